#include "program.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <system_error>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sandbox/base/log.hpp>

#include "bridge.hpp"
#include "lines.hpp"
#include "options.hpp"
#include "pipes.hpp"
#include "session.hpp"

namespace sandbox::mcp {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kLineLimit = 8UL * 1024 * 1024;
/// A client that takes no answers gets no further questions read.
constexpr std::size_t kMostBacklog = 1024UL * 1024;
/// Leaving takes less than a second: to tell the server what to stop, and to hand over answers that are ready.
constexpr auto kLeaveTime = 800ms;

/// One conversation over two descriptors, from its first line to its end.
class Conversation {
public:
    Conversation(asio::io_context& io, Options options, int in, int out)
        : io_(io),
          signals_(io, SIGINT, SIGTERM),
          output_(io.get_executor(), out),
          input_(
              io.get_executor(), in, [this](std::string_view bytes) { take(bytes); }, [this] { end_of_input(); }),
          bridge_(io.get_executor(), std::move(options)),
          session_(io.get_executor(), bridge_, [this](std::string line) { output_.send(std::move(line)); }) {}

    void to_end() {
        output_.on_broken = [this] { leave(); };
        output_.on_drained = [this] {
            if (!leaving_) input_.resume();
            written_.cancel();
        };
        await_signal();
        input_.start();
        while (!done_ && io_.run_one() > 0) continue;
        // What the server has not answered in time is left behind.
        io_.stop();
    }

private:
    void take(std::string_view bytes) {
        lines_.feed(
            bytes, [this](std::string_view line) { session_.handle(line); }, [this] { session_.refuse_long_line(); });
        if (output_.backlog() > kMostBacklog) input_.pause();
    }

    void end_of_input() {
        lines_.end([this](std::string_view line) { session_.handle(line); }, [this] { session_.refuse_long_line(); });
        leave();
    }

    void await_signal() {
        signals_.async_wait([this](const boost::system::error_code& error, int number) {
            if (error) return;
            if (leaving_) ::_exit(128 + number);
            leave();
            await_signal();
        });
    }

    void leave() {
        if (std::exchange(leaving_, true)) return;
        input_.stop();
        asio::co_spawn(io_, say_goodbye(in(kLeaveTime)), [this](const std::exception_ptr&) { done_ = true; });
    }

    Task<void> say_goodbye(Deadline deadline) {
        co_await session_.leave(deadline);
        while (output_.backlog() > 0 && std::chrono::steady_clock::now() < deadline) {
            written_.expires_at(deadline);
            boost::system::error_code ignored;
            co_await written_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
        }
    }

    asio::io_context& io_;
    asio::signal_set signals_;
    asio::steady_timer written_{io_};
    Output output_;
    Input input_;
    Lines lines_{kLineLimit};
    Bridge bridge_;
    Session session_;
    bool leaving_ = false;
    bool done_ = false;
};

/// Standard output carries the protocol and nothing else: a copy of it is kept for that, and descriptor 1 is pointed at
/// standard error, so that nothing else in this process can write into the protocol. -1 with errno on failure.
int take_standard_output() {
    const int out = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (out < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return -1;
    return out;
}

int cant_start(const char* what) {
    std::fprintf(stderr, "sandbox-mcp: %s: %s\n", what, std::generic_category().message(errno).c_str());
    return 1;
}

}  // namespace

int run(std::vector<std::string> words) {
    auto line = read_command_line(std::move(words));
    if (!line.problem.empty()) {
        std::fprintf(stderr, "sandbox-mcp: %s (`sandbox-mcp --help` shows what is right)\n", line.problem.c_str());
        return 2;
    }
    if (!line.options) {
        const bool said = std::fputs(line.text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
        return said ? 0 : 1;
    }
    log::configure(log::Level::warn, log::Format::text);
    const int out = take_standard_output();
    if (out < 0) return cant_start("standard output");
    const int in = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    if (in < 0) return cant_start("standard input");

    asio::io_context io{1};
    Conversation(io, std::move(*line.options), in, out).to_end();
    return 0;
}

}  // namespace sandbox::mcp
