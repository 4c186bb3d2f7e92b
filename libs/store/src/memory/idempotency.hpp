#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>

#include <sandbox/store/store.hpp>

namespace sandbox::store::memory {

/// The first answers of requests that carried an Idempotency-Key, for a day and up to a number of them.
class Answers {
public:
    explicit Answers(std::size_t limit) : limit_(limit) {}

    /// Does `act` unless its answer is known. Only success is kept. Errors: conflict for a known key with another
    /// fingerprint; those of `act`.
    template <class T, class Act>
    [[nodiscard]] Result<T> once(const MaybeIdempotency& idempotency, Timestamp now, Act act) {
        if (!idempotency) return act();
        forget_old(now);
        if (const auto known = answers_.find(idempotency->key); known != answers_.end()) {
            const auto* answer = std::get_if<T>(&known->second.value);
            if (answer == nullptr || known->second.fingerprint != idempotency->fingerprint)
                return fail(Code::conflict, "this Idempotency-Key was used with another request: take a new key");
            return *answer;
        }
        Result<T> answer = act();
        if (answer) {
            answers_.emplace(idempotency->key, Answer{idempotency->fingerprint, *answer});
            by_age_.emplace_back(now, idempotency->key);
            if (by_age_.size() > limit_) forget_oldest();
        }
        return answer;
    }

private:
    struct Answer {
        std::string fingerprint;
        std::variant<Placed, Deletion, domain::Node, domain::Sandbox, domain::Operation> value;
    };

    void forget_oldest() {
        answers_.erase(by_age_.front().second);
        by_age_.pop_front();
    }
    void forget_old(Timestamp now) {
        while (!by_age_.empty() && by_age_.front().first + std::chrono::hours(24) <= now) forget_oldest();
    }

    std::size_t limit_;
    std::unordered_map<std::string, Answer> answers_;
    std::deque<std::pair<Timestamp, std::string>> by_age_;
};

}  // namespace sandbox::store::memory
