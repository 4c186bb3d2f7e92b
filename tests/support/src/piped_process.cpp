#include "support/piped_process.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <poll.h>
#include <spawn.h>
#include <sstream>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "environment.hpp"

namespace sandbox::test {

using namespace std::chrono_literals;

PipedProcess::PipedProcess(const Start& start) {
    int in[2];
    int out[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("pipe failed");
    const auto err = files_.path() + "/err";
    const auto directory = start.working_directory.empty() ? files_.path() : start.working_directory;

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    auto argv_texts = start.argv;
    auto environment_texts = environment_of(start);
    auto argv = pointers(argv_texts);
    auto environment = pointers(environment_texts);
    const int problem = posix_spawnp(&pid_, argv[0], &actions, nullptr, argv.data(), environment.data());
    posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
    in_ = in[1];
    out_ = out[0];
    ::fcntl(in_, F_SETFL, O_NONBLOCK);
    ::fcntl(out_, F_SETFL, O_NONBLOCK);
    std::signal(SIGPIPE, SIG_IGN);
    if (problem != 0) throw std::runtime_error("can't start " + start.argv.at(0) + ": " + std::strerror(problem));
}

PipedProcess::~PipedProcess() {
    close_input();
    ::close(out_);
    if (status_) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
}

void PipedProcess::pump(std::chrono::steady_clock::time_point until, bool for_writing) {
    pollfd ready[2] = {{.fd = ended_ ? -1 : out_, .events = POLLIN, .revents = 0},
                       {.fd = for_writing ? in_ : -1, .events = POLLOUT, .revents = 0}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    ::poll(ready, 2, static_cast<int>(std::max(0ms, left).count()));
    if (ended_) return;
    char bytes[65536];
    for (;;) {
        const auto got = ::read(out_, bytes, sizeof bytes);
        if (got > 0) buffer_.append(bytes, static_cast<std::size_t>(got));
        if (got == 0) ended_ = true;
        if (got <= 0) return;
    }
}

void PipedProcess::write(std::string_view bytes) {
    const auto until = std::chrono::steady_clock::now() + 60s;
    while (!bytes.empty()) {
        const auto put = ::write(in_, bytes.data(), bytes.size());
        if (put > 0) {
            bytes.remove_prefix(static_cast<std::size_t>(put));
            continue;
        }
        if (errno != EAGAIN && errno != EINTR) throw std::runtime_error("the program takes no more input: " + err());
        if (std::chrono::steady_clock::now() >= until) throw std::runtime_error("the program does not read its input");
        pump(until, true);
    }
}

void PipedProcess::close_input() {
    if (in_ >= 0) ::close(in_);
    in_ = -1;
}

std::optional<std::string> PipedProcess::read_line(std::chrono::milliseconds limit) {
    const auto until = std::chrono::steady_clock::now() + limit;
    for (;;) {
        if (const auto end = buffer_.find('\n', read_); end != std::string::npos) {
            auto line = buffer_.substr(read_, end - read_);
            read_ = end + 1;
            if (read_ == buffer_.size()) {
                buffer_.clear();
                read_ = 0;
            }
            return line;
        }
        if (ended_ || std::chrono::steady_clock::now() >= until) return std::nullopt;
        pump(until, false);
    }
}

void PipedProcess::signal(int number) const {
    if (!status_) ::kill(pid_, number);
}

int PipedProcess::wait(std::chrono::milliseconds limit) {
    const auto gone = [this] {
        int status = 0;
        if (status_) return true;
        if (::waitpid(pid_, &status, WNOHANG) != pid_) return false;
        status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        return true;
    };
    if (!eventually(limit, gone)) throw std::runtime_error("the program has not ended in time: " + err());
    return *status_;
}

std::string PipedProcess::err() const {
    std::ifstream file(files_.path() + "/err", std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return std::move(text).str();
}

}  // namespace sandbox::test
