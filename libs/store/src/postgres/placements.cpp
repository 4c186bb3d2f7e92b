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
/// What the database may need after its last lock, and its answer to get here: whoever has less time left is refused,
/// so that nothing is placed for one who has been told that it was not.
constexpr std::chrono::milliseconds kToAnswer{700};
constexpr std::chrono::milliseconds kLeastWait{100};

constexpr Statement kPlaceAll{"place_all",
                              "select code, message, body, notes from place_all($1, $2::real, $3, $4::integer)"};

Error not_in_time() {
    return Error(Code::unavailable, "PostgreSQL did not answer in time");
}

}  // namespace

struct Placements::Request {
    std::string json;
    Deadline deadline;
    std::optional<Result<Answer>> answer;
    bool abandoned = false;
    async::Signal answered;

    [[nodiscard]] std::chrono::milliseconds may_wait() const {
        return std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Deadline::clock::now()) - kToAnswer;
    }
    void answer_with(Result<Answer> with) {
        answer.emplace(std::move(with));
        answered.notify_all();
    }
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
    request->deadline = std::min(deadline, in(kAnswerWithin));
    // Also when the caller is cancelled: a sandbox that nobody waits for any more is not begun.
    const Leaving leaving(request);
    const auto [queue, idle] = waiting_.try_emplace(node);
    queue->second.push_back(request);
    if (idle) asio::co_spawn(io_, run(shared_from_this(), node), asio::detached);
    if (!co_await request->answered.wait(request->deadline)) co_return fail(not_in_time());
    co_return std::move(*request->answer);
}

Task<void> Placements::run(std::shared_ptr<Placements> /*self*/, domain::NodeId node) {
    auto& waiting = waiting_.at(node);
    while (!waiting.empty()) {
        Batch batch;
        for (; !waiting.empty() && batch.size() < kMaxBatch; waiting.pop_front()) {
            const auto& next = waiting.front();
            if (next->abandoned) continue;
            if (next->may_wait() < kLeastWait)
                next->answer_with(fail(not_in_time()));
            else
                batch.push_back(next);
        }
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
            batch[i]->answer_with(std::move(answers->at(i)));
        else
            batch[i]->answer_with(fail(Error(answers.error())));
    }
}

Task<Result<std::vector<Answer>>> Placements::ask_for(const Batch& batch) {
    std::string requests = "[";
    for (const auto& request : batch) requests += (requests.size() > 1 ? "," : "") + request->json;
    requests += "]";
    auto may_wait = batch.front()->may_wait();
    for (const auto& request : batch) may_wait = std::min(may_wait, request->may_wait());
    auto job = [requests = std::move(requests), policy = policy_, lock_timeout = std::max(may_wait, kLeastWait),
                size = batch.size()](Connection& connection) -> Result<std::vector<Answer>> {
        auto rows =
            connection.query(kPlaceAll, {requests, std::to_string(policy.max_host_pressure),
                                         std::to_string(policy.reserve_ratio), std::to_string(lock_timeout.count())});
        if (!rows) return fail(std::move(rows.error()));
        std::vector<Answer> answers;
        for (const auto& row : *rows) answers.push_back(Answer::from(row));
        if (answers.size() != size) return fail(Code::internal, "the database left out an answer");
        return answers;
    };
    co_return co_await pool_->run(in(kAnswerWithin), std::move(job));
}

}  // namespace sandbox::store::postgres
