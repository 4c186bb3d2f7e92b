// The calls of a session: in line, side by side, with progress, and cancelled.
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <fmt/format.h>

#include <sandbox/base/log.hpp>

#include "running.hpp"
#include "steps.hpp"

namespace sandbox::mcp {
namespace {

using namespace std::chrono_literals;

constexpr auto kTick = 1s;
/// What telling the server of a cancel may take.
constexpr auto kUndoTime = 10s;

std::optional<nlohmann::json> progress_token(const nlohmann::json& params) {
    const auto meta = params.find("_meta");
    if (meta == params.end() || !meta->is_object()) return std::nullopt;
    const auto token = meta->find("progressToken");
    if (token == meta->end() || !(token->is_string() || token->is_number_integer())) return std::nullopt;
    return *token;
}

/// About the bytes that a value keeps.
std::size_t weight(const nlohmann::json& value) {
    if (value.is_string()) return sizeof(value) + value.get_ref<const std::string&>().size();
    std::size_t sum = sizeof(value);
    if (value.is_structured())
        for (const auto& element : value) sum += weight(element);
    return sum;
}

Task<void> kill_command(client::Client& client, domain::OperationId id) {
    auto answer = co_await client.cancel(id, in(kUndoTime));
    // It may have ended meanwhile, which is as good.
    if (!answer && answer.error().status != 409)
        log::warn("a cancelled command may still run",
                  {{"operation", id.text()}, {"error", answer.error().error.message()}});
}

Task<void> take_back(client::Client& client, domain::SandboxId id) {
    auto answer = co_await client.destroy(id, 0, in(kUndoTime));
    if (!answer)
        log::warn("the sandbox of a cancelled call may still be there",
                  {{"sandbox", id.text()}, {"error", answer.error().error.message()}});
}

}  // namespace

std::optional<Reply> Session::enqueue(const Message& request, Revision revision, std::string what, Work work) {
    const auto bytes = weight(request.params);
    if (line_.size() >= limits_.in_line || bytes_in_line_ + bytes > limits_.bytes_in_line)
        return rpc_error(kBusy, "too many calls are in line: wait for answers before you call again");
    auto running = std::make_shared<Running>(executor_);
    running->id = request.id;
    running->method = request.method;
    running->what = std::move(what);
    running->revision = revision;
    running->progress_token = progress_token(request.params);
    running->work = std::move(work);
    running->bytes = bytes;
    calls_.emplace(request.id, running);
    if (running->progress_token) tick(running);
    if (running_ < limits_.side_by_side) {
        begin(running);
    } else {
        running->call.say("waiting for its turn");
        bytes_in_line_ += bytes;
        line_.push_back(running);
    }
    return std::nullopt;
}

void Session::begin(const std::shared_ptr<Running>& running) {
    ++running_;
    running->begun = true;
    auto on_end = [this, running](const std::exception_ptr&) { end(running); };
    asio::co_spawn(executor_, run(running), asio::bind_cancellation_slot(running->call.slot(), std::move(on_end)));
}

Task<void> Session::run(std::shared_ptr<Running> running) {
    Reply reply;
    try {
        reply = co_await running->work(running->call);
    } catch (const std::exception& error) {
        if (!running->call.cancelled()) log::error("a call failed", {{"call", running->what}, {"error", error.what()}});
        reply = rpc_error(kInternalError, "the bridge met an error of its own; its standard error has more");
    }
    if (running->call.cancelled()) {
        undo(running->call);
    } else {
        running->ended = true;  // no progress after the answer
        log_call(*running, reply);
        send_reply(running->id, running->method, running->revision, std::move(reply), false);
    }
}

void Session::end(const std::shared_ptr<Running>& running) {
    running->ended = true;
    running->ticker.cancel();
    if (const auto found = calls_.find(running->id); found != calls_.end() && found->second == running)
        calls_.erase(found);
    --running_;
    begin_next();
    ended_.notify_all();
}

void Session::begin_next() {
    while (running_ < limits_.side_by_side && !line_.empty()) {
        auto next = std::move(line_.front());
        line_.pop_front();
        bytes_in_line_ -= next->bytes;
        begin(next);
    }
}

/// Its id is free at once; what it has started is undone as soon as that is known.
void Session::stop(std::shared_ptr<Running> running) {
    running->ended = true;
    running->ticker.cancel();
    calls_.erase(running->id);
    if (running->begun) return running->call.cancel();
    std::erase(line_, running);
    bytes_in_line_ -= running->bytes;
}

void Session::undo(const Call& call) {
    if (call.exec()) tasks_.spawn("cancel command", kill_command(bridge_.client(), *call.exec()));
    if (call.sandbox()) tasks_.spawn("take back sandbox", take_back(bridge_.client(), *call.sandbox()));
}

void Session::tick(const std::shared_ptr<Running>& running) {
    running->ticker.expires_after(kTick);
    running->ticker.async_wait([this, held = std::weak_ptr<Running>(running)](const boost::system::error_code& error) {
        auto call = held.lock();
        if (error || !call || call->ended) return;
        if (const auto waited = call->call.waited())
            tasks_.spawn("progress", ask_phase(std::move(call), *waited));
        else
            send_progress(call);
    });
}

/// What waits for the operation's end is answered at its end: how far it is has to be asked.
Task<void> Session::ask_phase(std::shared_ptr<Running> running, Call::Waited waited) {
    auto operation = co_await bridge_.client().operation(waited.id, 0, in(kTick));
    if (running->ended) co_return;
    // Its answer is on its way: progress that a client reads together with that is of a call that it no longer knows.
    if (operation && domain::has_ended(operation->state)) co_return tick(running);
    if (operation) running->call.say(phase_of(waited.what, *operation));
    send_progress(running);
}

void Session::send_progress(const std::shared_ptr<Running>& running) {
    ++running->ticks;
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - running->since);
    send_(to_line(Json{{"jsonrpc", "2.0"},
                       {"method", "notifications/progress"},
                       {"params",
                        {{"progressToken", *running->progress_token},
                         {"progress", running->ticks},
                         {"message", fmt::format("{} ({} s)", running->call.phase(), seconds.count())}}}}));
    tick(running);
}

/// For clients of the older revisions that have asked for a log: a line for each call.
void Session::log_call(const Running& running, const Reply& reply) {
    if (!log_level_ || running.revision == Revision::july_2026) return;
    const bool failed = !reply || reply->value("isError", false);
    const std::string level = failed ? "warning" : "info";
    const bool wanted = *log_level_ == "debug" || *log_level_ == level ||
                        (failed && (*log_level_ == "info" || *log_level_ == "notice"));
    if (!wanted) return;
    const auto took =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - running.since);
    send_(to_line(Json{{"jsonrpc", "2.0"},
                       {"method", "notifications/message"},
                       {"params",
                        {{"level", level},
                         {"logger", kServerName},
                         {"data", {{"call", running.what}, {"failed", failed}, {"milliseconds", took.count()}}}}}}));
}

Task<void> Session::leave(Deadline deadline) {
    line_.clear();
    auto calls = std::move(calls_);
    calls_.clear();
    for (auto& [id, running] : calls) {
        running->ended = true;
        running->ticker.cancel();
        if (running->begun) running->call.cancel();
    }
    while (running_ > 0 && std::chrono::steady_clock::now() < deadline) co_await ended_.wait(deadline);
    co_await tasks_.join(deadline);
}

}  // namespace sandbox::mcp
