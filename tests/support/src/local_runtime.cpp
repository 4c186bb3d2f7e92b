#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <support/local_runtime.hpp>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <sandbox/runtime/output_capture.hpp>

namespace sandbox::test {
namespace {

using Stream = asio::posix::stream_descriptor;

struct Pipe {
    int read = -1;
    int write = -1;
    Pipe() {
        std::array<int, 2> ends{};
        if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
        read = ends[0];
        write = ends[1];
    }
};

/// Pointers into the strings, with the null at the end that exec wants.
std::vector<char*> pointers(std::vector<std::string>& strings) {
    std::vector<char*> list;
    for (auto& text : strings) list.push_back(text.data());
    list.push_back(nullptr);
    return list;
}

struct Child {
    pid_t pid;
    int in, out, err;
};

/// Between fork and exec only calls that are safe there.
[[noreturn]] void become(char* const* argv, char* const* env, const char* directory, const Pipe& in, const Pipe& out,
                         const Pipe& err) {
    setsid();
    dup2(in.read, STDIN_FILENO);
    dup2(out.write, STDOUT_FILENO);
    dup2(err.write, STDERR_FILENO);
    if (chdir(directory) == 0) execvpe(argv[0], argv, env);
    _exit(errno == ENOENT ? 127 : 126);
}

Child start(std::vector<std::string> argv, std::vector<std::string> env, const std::string& directory) {
    const auto arguments = pointers(argv);
    const auto variables = pointers(env);
    const Pipe in, out, err;
    const pid_t pid = fork();
    if (pid < 0) throw std::runtime_error("no process");
    if (pid == 0) become(arguments.data(), variables.data(), directory.c_str(), in, out, err);
    close(in.read);
    close(out.write);
    close(err.write);
    return {pid, in.write, out.read, err.read};
}

/// The streams of one command, and what was read from them. Shared with the tasks that serve them.
struct Streams {
    Streams(const asio::any_io_executor& executor, const Child& child, std::size_t limit)
        : in(executor, child.in),
          out(executor, child.out),
          err(executor, child.err),
          kept_out(limit),
          kept_err(limit) {}

    Stream in, out, err;
    runtime::OutputCapture kept_out, kept_err;
    int reading = 2;
    async::Signal ended;

    void close() {
        boost::system::error_code ignored;
        for (auto* stream : {&in, &out, &err}) stream->close(ignored);
    }
};

Task<void> feed(std::shared_ptr<Streams> streams, std::string bytes) {
    boost::system::error_code error;  // a command that does not read its input is no fault
    co_await asio::async_write(streams->in, asio::buffer(bytes), asio::redirect_error(asio::use_awaitable, error));
    streams->in.close(error);
}

Task<void> drain(std::shared_ptr<Streams> streams, Stream& stream, runtime::OutputCapture& kept) {
    std::vector<char> buffer(std::size_t{64} * 1024);
    boost::system::error_code error;
    while (!error) {
        const auto length =
            co_await stream.async_read_some(asio::buffer(buffer), asio::redirect_error(asio::use_awaitable, error));
        kept.append({buffer.data(), length});
    }
    --streams->reading;
    streams->ended.notify_all();
}

bool has_ended(pid_t pid) {
    siginfo_t ended{};
    return waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == pid;
}

/// Waits for the process's end; kills its session at the deadline. True when it was killed for that.
Task<bool> wait_for(pid_t pid, Deadline deadline) {
    using namespace asio::experimental::awaitable_operators;
    auto executor = co_await asio::this_coro::executor;
    Stream process(executor, static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    asio::steady_timer timer(executor, deadline);
    bool killed = false;
    // Not every wake-up is true: where a program forks, events of a descriptor that is closed reach others for a
    // moment.
    while (!has_ended(pid)) {
        if (killed) {
            co_await process.async_wait(Stream::wait_read, asio::use_awaitable);
            continue;
        }
        const auto first = co_await (process.async_wait(Stream::wait_read, asio::use_awaitable) ||
                                     timer.async_wait(asio::use_awaitable));
        if (first.index() == 0) continue;
        ::kill(-pid, SIGKILL);
        killed = true;
    }
    co_return killed;
}

domain::Output output_of(int status, Streams& streams) {
    domain::Output output;
    output.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (WIFSIGNALED(status)) output.signal = WTERMSIG(status);
    auto kept_out = std::move(streams.kept_out).finish();
    auto kept_err = std::move(streams.kept_err).finish();
    output.truncated = kept_out.truncated || kept_err.truncated;
    output.stdout_bytes = kept_out.total_bytes;
    output.stderr_bytes = kept_err.total_bytes;
    output.stdout_text = std::move(kept_out.text);
    output.stderr_text = std::move(kept_err.text);
    output.stdout_base64 = std::move(kept_out.base64);
    output.stderr_base64 = std::move(kept_err.base64);
    return output;
}

std::unexpected<Error> down() {
    return fail(Code::unavailable, "the engine does not answer");
}

}  // namespace

LocalRuntime::LocalRuntime(asio::any_io_executor executor, std::string root)
    : executor_(std::move(executor)), root_(std::move(root)) {}

LocalRuntime::~LocalRuntime() {
    for (const auto& [operation, command] : running_) ::kill(-command.second, SIGKILL);
}

std::string LocalRuntime::directory_of(domain::SandboxId id) const {
    return root_ + "/sandbox-" + id.text();
}

Task<Result<runtime::Capabilities>> LocalRuntime::probe(Deadline) {
    if (down_) co_return down();
    runtime::Capabilities capabilities;
    capabilities.info = {.name = "local", .version = "1"};
    capabilities.tiers = tiers_;
    capabilities.features = {"stdin", "cancel"};
    if (has_inventory_) capabilities.features.emplace_back("inventory");
    capabilities.concurrent_exec = true;
    co_return capabilities;
}

Task<Result<runtime::HostStatus>> LocalRuntime::status(Deadline) {
    if (down_) co_return down();
    co_return runtime::HostStatus{};
}

Task<Result<void>> LocalRuntime::create(domain::SandboxId id, const domain::SandboxSpec& spec, domain::Tier,
                                        runtime::PhaseSink phase) {
    if (down_) co_return down();
    if (spec.image.starts_with("missing/")) co_return fail(Code::not_found, "no such image: " + spec.image);
    const bool slow = spec.image.starts_with("slow/");
    const auto resources = spec.resources;
    if (slow) {
        pulling_.insert(id);
        phase("pulling image");
        while (pulling_.contains(id)) co_await changed_.wait(Deadline::max());
        co_return fail(Code::cancelled, "create was cancelled");
    }
    phase("creating");
    std::error_code error;
    std::filesystem::create_directories(directory_of(id), error);
    if (error) co_return fail(Code::unavailable, error.message());
    sandboxes_[id] = {.directory = directory_of(id), .resources = resources};
    co_return Result<void>();
}

Task<Result<runtime::ExecResult>> LocalRuntime::exec(domain::SandboxId id, domain::OperationId operation,
                                                     const domain::Command& command, std::size_t max_output_bytes) {
    if (down_) co_return down();
    if (!sandboxes_.contains(id)) co_return fail(Code::not_found, "there is no such sandbox here");
    const auto limit = in(std::chrono::seconds(command.timeout_seconds));
    auto directory = directory_of(id);
    if (command.cwd && command.cwd->starts_with("/workspace/")) directory += command.cwd->substr(10);
    std::vector<std::string> env{"PATH=/usr/local/bin:/usr/bin:/bin", "SANDBOX_ID=" + id.text()};
    for (const auto& [name, value] : command.env) env.push_back(name + "=" + value);

    const auto child = start(command.argv, std::move(env), directory);
    running_[operation] = {id, child.pid};
    const auto streams = std::make_shared<Streams>(executor_, child, max_output_bytes);
    asio::co_spawn(executor_, feed(streams, command.stdin_bytes.value_or("")), asio::detached);
    asio::co_spawn(executor_, drain(streams, streams->out, streams->kept_out), asio::detached);
    asio::co_spawn(executor_, drain(streams, streams->err, streams->kept_err), asio::detached);
    const bool timed_out = co_await wait_for(child.pid, limit);
    int status = 0;
    waitpid(child.pid, &status, 0);
    // For output that is in the pipes already; what the command left behind may hold them open for ever.
    const auto grace = in(std::chrono::milliseconds(200));
    while (streams->reading > 0 && co_await streams->ended.wait(grace)) continue;
    streams->close();
    running_.erase(operation);

    runtime::ExecResult result;
    result.output = output_of(status, *streams);
    result.output.timed_out = timed_out;
    if (timed_out) result.output.exit_code = 124;
    co_return result;
}

Task<Result<void>> LocalRuntime::cancel(domain::SandboxId, domain::OperationId operation) {
    if (down_) co_return down();
    if (const auto found = running_.find(operation); found != running_.end()) ::kill(-found->second.second, SIGKILL);
    co_return Result<void>();
}

void LocalRuntime::kill_commands_of(domain::SandboxId id) {
    for (const auto& [operation, command] : running_)
        if (command.first == id) ::kill(-command.second, SIGKILL);
}

Task<Result<void>> LocalRuntime::destroy(domain::SandboxId id) {
    if (down_) co_return down();
    remove(id);
    co_return Result<void>();
}

void LocalRuntime::lose(domain::SandboxId id) {
    remove(id);
    if (on_change) on_change();
}

void LocalRuntime::remove(domain::SandboxId id) {
    pulling_.erase(id);
    kill_commands_of(id);
    sandboxes_.erase(id);
    std::error_code error;
    std::filesystem::remove_all(directory_of(id), error);
    changed_.notify_all();
}

Task<Result<std::vector<domain::InventoryItem>>> LocalRuntime::list(Deadline) {
    if (down_) co_return down();
    if (!has_inventory_) co_return fail(Code::unavailable, "this runtime can't tell what it holds");
    std::vector<domain::InventoryItem> items;
    for (const auto& [id, sandbox] : sandboxes_) {
        domain::InventoryItem item;
        item.sandbox_id = id;
        item.resources = sandbox.resources;
        items.push_back(item);
    }
    co_return items;
}

}  // namespace sandbox::test
