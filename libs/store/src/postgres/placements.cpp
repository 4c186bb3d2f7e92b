#include "postgres/placements.hpp"

#include <algorithm>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sandbox/async/signal.hpp>

namespace sandbox::store::postgres {

namespace {

// So that none of them waits long for the others.
constexpr std::size_t kMaxBatch = 32;

constexpr Statement kPlaceAll{"place_all", "select code, message, body, notes from place_all($1, $2, $3::real, $4)"};

}  // namespace

struct Placements::Request {
    std::string json;
    std::optional<Result<Answer>> answer;
    bool abandoned = false;
    async::Signal answered;
};

class Placements::Leaving {
public:
    explicit Leaving(std::shared_ptr<Request> request) : request_(std::move(request)) {}
    ~Leaving() { request_->abandoned = true; }
    Leaving(const Leaving&) = delete;
    Leaving& operator=(const Leaving&) = delete;

private:
    std::shared_ptr<Request> request_;
};

Task<Result<Answer>> Placements::place(domain::NodeId node, std::string json, Deadline deadline) {
    auto request = std::make_shared<Request>();
    request->json = std::move(json);
    // Also when the caller is cancelled: a sandbox that nobody waits for any more is not begun.
    const Leaving leaving(request);
    const auto [queue, idle] = waiting_.try_emplace(node);
    queue->second.push_back(request);
    if (idle) asio::co_spawn(io_, run(shared_from_this(), node), asio::detached);
    const bool in_time = co_await request->answered.wait(std::min(deadline, in(kAnswerWithin)));
    if (!in_time) co_return fail(Code::unavailable, "PostgreSQL did not answer in time");
    co_return std::move(*request->answer);
}

Task<void> Placements::run(std::shared_ptr<Placements> /*self*/, domain::NodeId node) {
    auto& waiting = waiting_.at(node);
    while (!waiting.empty()) {
        Batch batch;
        for (; !waiting.empty() && batch.size() < kMaxBatch; waiting.pop_front())
            if (!waiting.front()->abandoned) batch.push_back(waiting.front());
        if (!batch.empty()) co_await carry_out(batch);
    }
    waiting_.erase(node);
}

Task<void> Placements::carry_out(const Batch& batch) {
    auto answers = co_await ask_for(batch);
    if (!answers && answers.error().code() == Code::internal && batch.size() > 1) {
        // One that the database can't take must not be the others' undoing.
        for (const auto& request : batch) {
            const Batch alone{request};
            co_await carry_out(alone);
        }
        co_return;
    }
    for (std::size_t i = 0; i < batch.size(); ++i) {
        if (answers)
            batch[i]->answer.emplace(std::move(answers->at(i)));
        else
            batch[i]->answer.emplace(fail(Error(answers.error())));
        batch[i]->answered.notify_all();
    }
}

Task<Result<std::vector<Answer>>> Placements::ask_for(const Batch& batch) {
    std::string requests = "[";
    for (const auto& request : batch) requests += (requests.size() > 1 ? "," : "") + request->json;
    requests += "]";
    auto job = [requests = std::move(requests), policy = policy_,
                size = batch.size()](Connection& connection) -> Result<std::vector<Answer>> {
        auto rows = connection.query(
            kPlaceAll, {requests, interval(policy.heartbeat_timeout), std::to_string(policy.max_host_pressure),
                        std::to_string(policy.reserve_ratio)});
        if (!rows) return fail(std::move(rows.error()));
        std::vector<Answer> answers;
        for (const auto& row : *rows) answers.push_back(Answer::from(row));
        if (answers.size() != size) return fail(Code::internal, "the database left out an answer");
        return answers;
    };
    co_return co_await pool_->run(in(kAnswerWithin), std::move(job));
}

}  // namespace sandbox::store::postgres
