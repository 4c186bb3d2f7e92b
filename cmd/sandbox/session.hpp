#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sandbox/async/clock.hpp>
#include <sandbox/async/task.hpp>
#include <sandbox/base/random.hpp>
#include <sandbox/client/client.hpp>

#include "output.hpp"
#include "settings.hpp"

namespace sandbox::cli {

/// The options that every command takes.
struct Globals {
    std::optional<std::string> server;
    std::optional<std::string> token;
    std::optional<std::string> ca_file;
    bool json = false;
    bool quiet = false;
    ColorChoice color = ColorChoice::automatic;
};

/// How a command ended: its exit status, or why it could not be done.
using Outcome = client::Answer<int>;

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;

/// A failure of our own, with the code that --json shows.
[[nodiscard]] std::unexpected<client::Failure> failure(std::string code, std::string message);
/// The command line is wrong: exit status 2.
[[nodiscard]] std::unexpected<client::Failure> usage(std::string message);
inline constexpr std::string_view kUsageCode = "usage";

/// Passes a failure on: if (!answer) co_return pass_on(answer);
template <class T>
[[nodiscard]] std::unexpected<client::Failure> pass_on(client::Answer<T>& answer) {
    return std::unexpected(std::move(answer.error()));
}

/// An operation that goes on without us when we are interrupted, and what one can do about it.
struct Pending {
    domain::OperationId operation;
    std::string what;    // "the exec", "creating sandbox 0199…"
    std::string cancel;  // the command that ends it; "" when there is none
};

/// One run of a command: its options, its connection and what it has under way. Lives on the io thread.
class Session {
public:
    Session(asio::any_io_executor executor, Globals globals, Environment environment, Output& output);

    [[nodiscard]] const Globals& globals() const noexcept { return globals_; }
    [[nodiscard]] const Environment& environment() const noexcept { return environment_; }
    [[nodiscard]] Output& output() noexcept { return output_; }
    [[nodiscard]] const asio::any_io_executor& executor() const noexcept { return executor_; }
    [[nodiscard]] Timestamp now() const { return clock_.now(); }
    [[nodiscard]] std::string new_idempotency_key();

    /// The server's client, made at the first call; it lives as long as this.
    [[nodiscard]] client::Answer<client::Client*> client();
    [[nodiscard]] Secret token() const;

    /// Between these an interrupt only sets a mark, so that a request that starts something is answered and what it
    /// started can be named. unshield() throws operation_aborted when one has come meanwhile.
    void shield() noexcept { shielded_ = true; }
    void unshield();

    void begins(Pending pending) { pending_.push_back(std::move(pending)); }
    void ended(domain::OperationId operation);
    [[nodiscard]] const std::vector<Pending>& pending() const noexcept { return pending_; }

    /// Shows a failure, with what to do about it where we know: a line for people or a JSON document on standard error.
    void report(const client::Failure& failure);

    /// Called by the program on SIGINT and SIGTERM: true when the command is to be cancelled now.
    [[nodiscard]] bool interrupt() noexcept;
    [[nodiscard]] bool interrupted() const noexcept { return interrupted_; }
    /// Throws operation_aborted when an interrupt has come: what failed since then has failed for that.
    void stop_if_interrupted() const;

private:
    asio::any_io_executor executor_;
    Globals globals_;
    Environment environment_;
    Output& output_;
    async::SystemClock clock_;
    SystemRandom random_;
    std::optional<client::Client> client_;
    std::vector<Pending> pending_;
    bool shielded_ = false;
    bool interrupted_ = false;
};

}  // namespace sandbox::cli
