#include "program.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <exception>
#include <optional>
#include <system_error>
#include <unistd.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/system/system_error.hpp>
#include <fmt/format.h>

#include "command_line.hpp"
#include "completion.hpp"
#include "report.hpp"
#include "session.hpp"

namespace sandbox::cli {
namespace {

constexpr std::string_view kInterruptedCode = "interrupted";

/// What goes on without us, and how to follow or end it: one sentence for programs, lines for people.
std::string interrupted_text(const std::vector<Pending>& pending, bool json) {
    if (pending.empty()) return json ? error_text(std::string(kInterruptedCode), "interrupted", "", true) : "";
    std::string message = "interrupted";
    for (const auto& one : pending) message += "; " + goes_on(one);
    return error_text(std::string(kInterruptedCode), message, "", json);
}

/// Runs one action on the io thread until it has ended or a signal ends it.
class Run {
public:
    Run(Session& session, asio::io_context& io) : session_(session), io_(io), signals_(io, SIGINT, SIGTERM) {}

    int to_end(const Action& action) {
        await_signal();
        asio::co_spawn(
            io_, action(session_),
            asio::bind_cancellation_slot(cancellation_.slot(), [this](std::exception_ptr thrown, Outcome outcome) {
                finish(thrown, std::move(outcome));
            }));
        // Until it has ended, not until nothing is left to do: connections keep timers of their own.
        while (!ended_ && io_.run_one() > 0) continue;
        return status_;
    }

private:
    void await_signal() {
        signals_.async_wait([this](const boost::system::error_code& error, int number) {
            if (error) return;
            if (session_.interrupted()) ::_exit(128 + number);
            signal_ = number;
            await_signal();
            if (session_.interrupt())
                cancellation_.emit(asio::cancellation_type::terminal);
            else
                session_.output().note(
                    "one moment: the server is being asked what goes on without us; again to leave at once");
        });
    }

    void finish(const std::exception_ptr& thrown, Outcome outcome) {
        ended_ = true;
        signals_.cancel();
        if (signal_ && (thrown || !outcome)) {
            status_ = 128 + *signal_;
            session_.output().discard();
            session_.output().err(interrupted_text(session_.pending(), session_.output().json()));
        } else if (thrown) {
            std::rethrow_exception(thrown);
        } else if (outcome) {
            status_ = *outcome;
        } else {
            status_ = outcome.error().code == kUsageCode ? kUsage : kFailed;
            session_.report(outcome.error());
        }
    }

    Session& session_;
    asio::io_context& io_;
    asio::signal_set signals_;
    asio::cancellation_signal cancellation_;
    std::optional<int> signal_;
    bool ended_ = false;
    int status_ = kFailed;
};

/// What standard output or standard error did not take is a failure: a script must not take half an output for all of
/// it. A reader who has seen enough needs no message.
int flushed(Output& output, int status) {
    const auto flushed = output.flush();
    if (flushed == Output::Flushed::output_lost && errno != EPIPE)
        write_all(STDERR_FILENO, fmt::format("sandbox: standard output: {}\n", std::generic_category().message(errno)));
    return flushed == Output::Flushed::whole ? status : kFailed;
}

int run_action(const Action& action, const Globals& globals) {
    Output output(globals.json, globals.quiet, globals.color);
    asio::io_context io{1};
    int status = kFailed;
    {
        Session session(io.get_executor(), globals, process_environment(), output);
        status = Run(session, io).to_end(action);
    }
    return flushed(output, status);
}

}  // namespace

int run(const std::vector<std::string>& words) {
    std::signal(SIGPIPE, SIG_IGN);
    CommandLine line;
    if (!words.empty() && words.front() == kCompleteCommand) return complete(line, std::span(words).subspan(1));
    const auto parsed = line.parse(words);
    if (!parsed.problem.empty()) {
        write_all(STDERR_FILENO, error_text(std::string(kUsageCode), parsed.problem, "", line.globals().json));
        return kUsage;
    }
    if (!parsed.action) return write_all(STDOUT_FILENO, parsed.text) ? kDone : kFailed;
    return run_action(parsed.action, line.globals());
}

}  // namespace sandbox::cli
