#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>

#include <sandbox/async/signal.hpp>
#include <sandbox/async/task_group.hpp>

#include "bridge.hpp"
#include "call.hpp"
#include "message.hpp"
#include "reply.hpp"
#include "revision.hpp"

namespace sandbox::mcp {

/// How much of a client's work is taken on at a time.
struct CallLimits {
    std::size_t side_by_side = 16;
    std::size_t in_line = 1000;
    std::size_t bytes_in_line = 64UL * 1024 * 1024;
};

/// One client's conversation: reads its messages, answers what needs no server at once, and runs the rest side by side.
/// Knows nothing of pipes. Lives on the io thread; `send` is given whole lines without their end.
class Session {
public:
    using Send = std::function<void(std::string)>;
    Session(asio::any_io_executor executor, Bridge& bridge, Send send, CallLimits limits = {});
    ~Session();

    /// One line from the client. Never throws.
    void handle(std::string_view line);
    /// A line that was too long to be read.
    void refuse_long_line();

    /// Calls under way and in line.
    [[nodiscard]] std::size_t calls() const noexcept { return calls_.size(); }

    /// Cancels every call and waits until the server has been told, at most until the deadline.
    Task<void> leave(Deadline deadline);

private:
    struct Running;
    using Work = std::function<Task<Reply>(Call&)>;

    void answer(const Message& request);
    void notice(const Message& notification);
    void cancel(const nlohmann::json& params);

    // Requests, by the rules of the two eras.
    [[nodiscard]] std::optional<Reply> before_2026(const Message& request);
    [[nodiscard]] std::optional<Reply> since_2026(const Message& request);
    [[nodiscard]] Reply initialize(const nlohmann::json& params);
    [[nodiscard]] Reply set_log_level(const nlohmann::json& params);
    /// The methods that both have; nullopt when the answer comes later.
    [[nodiscard]] std::optional<Reply> common(const Message& request, Revision revision);
    [[nodiscard]] std::optional<Reply> call_tool(const Message& request, Revision revision);
    [[nodiscard]] std::optional<Reply> read_resource(const Message& request, Revision revision);

    /// `lasting`: the same answer would be given as long as this program runs.
    void send_reply(const nlohmann::json& id, const std::string& method, Revision revision, Reply reply, bool lasting);

    // Calls.
    [[nodiscard]] std::optional<Reply> enqueue(const Message& request, Revision revision, std::string what, Work work);
    void begin(const std::shared_ptr<Running>& running);
    Task<void> run(std::shared_ptr<Running> running);
    void end(const std::shared_ptr<Running>& running);
    void begin_next();
    void stop(std::shared_ptr<Running> running);
    void undo(const Call& call);
    void tick(const std::shared_ptr<Running>& running);
    Task<void> ask_phase(std::shared_ptr<Running> running, Call::Waited waited);
    void send_progress(const std::shared_ptr<Running>& running);
    void log_call(const Running& running, const Reply& reply);

    asio::any_io_executor executor_;
    Bridge& bridge_;
    Send send_;
    CallLimits limits_;
    std::optional<Json> tools_;         // the answer to tools/list, once somebody has asked: large, and always the same
    std::optional<Revision> revision_;  // since initialize
    std::optional<std::string> log_level_;  // since logging/setLevel
    std::map<nlohmann::json, std::shared_ptr<Running>> calls_;
    std::deque<std::shared_ptr<Running>> line_;
    std::size_t running_ = 0;
    std::size_t bytes_in_line_ = 0;
    async::Signal ended_;
    async::TaskGroup tasks_;  // what is told to the server after a cancel, and asked for progress
};

}  // namespace sandbox::mcp
