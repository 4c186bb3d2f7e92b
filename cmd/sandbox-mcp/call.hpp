#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <sandbox/async/task.hpp>
#include <sandbox/domain/ids.hpp>

namespace sandbox::mcp {

/// What a request that is under way has started on the server, and how it is stopped. Lives on the io thread from the
/// request's arrival to its end.
class Call {
public:
    /// What is being waited for, in a few words: shown to clients that want progress.
    void say(std::string phase) { phase_ = std::move(phase); }
    [[nodiscard]] const std::string& phase() const noexcept { return phase_; }
    /// The operation whose end is waited for, if any: its phase is to be asked for when somebody wants to know. `what`
    /// begins the phase.
    struct Waited {
        domain::OperationId id;
        std::string what;
    };
    void waits_for(std::optional<Waited> operation) { waited_ = std::move(operation); }
    [[nodiscard]] const std::optional<Waited>& waited() const noexcept { return waited_; }

    /// Makes a request that starts something. A cancel meanwhile waits for its answer, so that `note` learns what has
    /// been started and it can be undone; then operation_aborted is thrown.
    template <class Answer, class Note>
    Task<Answer> start(Task<Answer> request, Note note) {
        shielded_ = true;
        auto answer = co_await std::move(request);
        shielded_ = false;
        if (answer) note(*answer);
        throw_if_cancelled();
        co_return answer;
    }
    /// A request that was interrupted may come back as a failure like any other: what comes next must not take it for
    /// one.
    void throw_if_cancelled() const {
        if (cancelled_) throw boost::system::system_error(asio::error::operation_aborted);
    }

    /// What is to be undone when the call is cancelled: a command killed, a sandbox that nobody has heard of deleted.
    void owns(domain::OperationId exec) { exec_ = exec; }
    void owns(domain::SandboxId created) { sandbox_ = created; }
    /// It has ended, or its id is about to be told.
    void disown() {
        exec_.reset();
        sandbox_.reset();
    }
    [[nodiscard]] const std::optional<domain::OperationId>& exec() const noexcept { return exec_; }
    [[nodiscard]] const std::optional<domain::SandboxId>& sandbox() const noexcept { return sandbox_; }

    /// Stops the call's task, at once or when the request that it makes is answered.
    void cancel() {
        if (std::exchange(cancelled_, true)) return;
        if (!shielded_) stop_.emit(asio::cancellation_type::terminal);
    }
    [[nodiscard]] bool cancelled() const noexcept { return cancelled_; }
    [[nodiscard]] asio::cancellation_slot slot() { return stop_.slot(); }

private:
    std::string phase_ = "working";
    std::optional<Waited> waited_;
    bool shielded_ = false;
    bool cancelled_ = false;
    std::optional<domain::OperationId> exec_;
    std::optional<domain::SandboxId> sandbox_;
    asio::cancellation_signal stop_;
};

}  // namespace sandbox::mcp
