#include "support/process.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <signal.h>
#include <spawn.h>
#include <sstream>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "environment.hpp"

extern char** environ;

namespace sandbox::test {

using namespace std::chrono_literals;

static std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return std::move(text).str();
}

static void write_file(const std::string& path, std::string_view text) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    if (!file) throw std::runtime_error("can't write " + path);
}

TemporaryDirectory::TemporaryDirectory() {
    std::string pattern = std::filesystem::temp_directory_path() / "sandbox-test.XXXXXX";
    if (!::mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

void sleep_a_little() {
    std::this_thread::sleep_for(5ms);
}

std::vector<std::string> environment_of(const Start& start) {
    std::map<std::string, std::string> variables;
    for (char** entry = environ; *entry; ++entry) {
        const std::string text = *entry;
        const auto equals = text.find('=');
        // The machine's own settings of the programs under test must not leak in.
        if (text.starts_with("SANDBOX_") || text.starts_with("XDG_")) continue;
        variables[text.substr(0, equals)] = text.substr(equals + 1);
    }
    for (const auto& [name, value] : start.environment) {
        if (value)
            variables[name] = *value;
        else
            variables.erase(name);
    }
    std::vector<std::string> entries;
    for (const auto& [name, value] : variables) entries.push_back(name + "=" + value);
    return entries;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (auto& text : texts) result.push_back(text.data());
    result.push_back(nullptr);
    return result;
}

Process::Process(const Start& start) {
    const auto in = files_.path() + "/in";
    const auto out = files_.path() + "/out";
    const auto err = files_.path() + "/err";
    write_file(in, start.input);
    const auto directory = start.working_directory.empty() ? files_.path() : start.working_directory;

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, in.c_str(), O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    std::vector<std::string> argv_texts;
    if (start.ends_with_thread) argv_texts = {"setpriv", "--pdeathsig", "TERM"};
    argv_texts.insert(argv_texts.end(), start.argv.begin(), start.argv.end());
    auto environment_texts = environment_of(start);
    auto argv = pointers(argv_texts);
    auto environment = pointers(environment_texts);
    const int problem = posix_spawnp(&pid_, argv[0], &actions, nullptr, argv.data(), environment.data());
    posix_spawn_file_actions_destroy(&actions);
    if (problem != 0) throw std::runtime_error("can't start " + start.argv.at(0) + ": " + std::strerror(problem));
}

Process::~Process() {
    if (status_) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
}

bool Process::running() {
    if (status_) return false;
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) != pid_) return true;
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return false;
}

void Process::signal(int number) const {
    if (!status_) ::kill(pid_, number);
}

Ended Process::wait(std::chrono::milliseconds limit) {
    if (!eventually(limit, [this] { return !running(); }))
        throw std::runtime_error("the program has not ended in time; it wrote: " + out() + err());
    return {*status_, out(), err()};
}

std::string Process::out() const {
    return read_file(files_.path() + "/out");
}
std::string Process::err() const {
    return read_file(files_.path() + "/err");
}

Ended run_program(const Start& start, std::chrono::milliseconds limit) {
    return Process(start).wait(limit);
}

int repeats(const char* variable, int otherwise) {
    const char* asked = std::getenv(variable);
    return asked ? std::atoi(asked) : otherwise;
}

std::string program(std::string_view name) {
    // The tests lie beside the programs they start.
    const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    return folder / name;
}

std::uint16_t lasting_port() {
    std::random_device random;
    for (int attempt = 0; attempt < 1000; ++attempt) {
        const auto port = static_cast<std::uint16_t>(20000 + random() % 10000);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const int file = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const bool bound = ::bind(file, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
        ::close(file);
        if (bound) return port;
    }
    throw std::runtime_error("there is no free port");
}

/// Words of `docker ARGUMENTS`' output; none when there is no engine.
static std::vector<std::string> docker(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "docker");
    std::istringstream words(run_program({.argv = std::move(arguments)}).out);
    return {std::istream_iterator<std::string>(words), {}};
}

void remove_what_node_holds(const std::string& state_directory) noexcept {
    try {
        auto node = read_file(state_directory + "/node-id");
        while (node.ends_with('\n')) node.pop_back();
        if (node.empty()) return;
        for (const std::string kind : {"container", "volume"}) {
            std::vector<std::string> list{kind, "ls", "-q", "--filter", "label=sandbox.dev/node=" + node};
            if (kind == "container") list.emplace_back("-a");
            const auto left = docker(list);
            if (left.empty()) continue;
            std::vector<std::string> remove{kind, "rm", "-f"};
            remove.insert(remove.end(), left.begin(), left.end());
            std::cerr << "left behind and removed: " << docker(remove).size() << ' ' << kind << "(s)\n";
        }
    } catch (const std::exception& error) {
        std::cerr << "what node " << state_directory << " holds could not be removed: " << error.what() << '\n';
    }
}

Daemon::~Daemon() {
    process_.reset();
    remove_what_node_holds(state_.path() + "/state");
}

Daemon::Daemon(Options options) : options_(std::move(options)) {
    start();
}

void Daemon::start() {
    const auto file = state_.path() + "/address";
    std::filesystem::remove(file);
    Start start;
    start.argv = {program("sandboxd")};
    start.ends_with_thread = true;
    start.argv.insert(start.argv.end(), options_.arguments.begin(), options_.arguments.end());
    start.environment = {{"SANDBOX__SERVER__BIND", address_.empty() ? "127.0.0.1:0" : address_},
                         {"SANDBOX__SERVER__ADDRESS_FILE", file},
                         {"SANDBOX__NODE__STATE_DIR", state_.path() + "/state"}};
    for (const auto& [name, value] : options_.variables) start.environment[name] = value;
    process_ = std::make_unique<Process>(start);
    const bool listens = eventually(20s, [&] { return std::filesystem::exists(file) || !process_->running(); });
    if (!listens || !process_->running()) throw std::runtime_error("sandboxd did not start: " + process_->err());
    address_ = read_file(file);
    while (address_.ends_with('\n')) address_.pop_back();
    if (!options_.wait_for_node) return;
    if (!eventually(20s, [&] { return process_->err().find("node registered") != std::string::npos; }))
        throw std::runtime_error("the worker did not register: " + process_->err());
}

int Daemon::stop() {
    process_->signal(SIGTERM);
    return process_->wait(20s).status;
}

void Daemon::restart_after_kill() {
    process_->signal(SIGKILL);
    process_->wait(10s);
    start();
}

}  // namespace sandbox::test
