#include "prober.hpp"

#include <algorithm>
#include <cstdio>
#include <support/http_call.hpp>
#include <support/process.hpp>

#include <gtest/gtest.h>

namespace sandbox::test {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

Prober::Prober(std::string address, std::vector<Request> requests)
    : address_(std::move(address)),
      requests_(std::move(requests)),
      served_(requests_.size()),
      thread_([this] { run(); }) {}

Prober::~Prober() {
    stop();
}

std::vector<Prober::Answer> Prober::stop() {
    over_ = true;
    if (thread_.joinable()) thread_.join();
    return answers_;
}

bool Prober::serves_since(Moment moment) const {
    const std::lock_guard lock(mutex_);
    return std::ranges::all_of(served_, [&](Moment served) { return served >= moment; });
}

std::vector<Prober::Request> Prober::harmless(const std::string& node_id) {
    return {{.method = "GET", .target = "/v1/sandboxes?limit=1", .body = {}},
            {.method = "POST", .target = "/v1/nodes/" + node_id + "/drain", .body = R"({"drain":false})"},
            {.method = "GET", .target = "/v1/nodes", .body = {}}};
}

void Prober::run() {
    for (std::size_t i = 0; !over_; ++i) {
        const auto& request = requests_[i % requests_.size()];
        Answer answer;
        answer.asked = steady_clock::now();
        try {
            auto reply = call(address_, request.method, request.target, request.body);
            answer.status = reply.status;
            answer.body = std::move(reply.body);
        } catch (const std::exception& problem) {
            answer.body = problem.what();
        }
        answer.took = std::chrono::duration_cast<milliseconds>(steady_clock::now() - answer.asked);
        {
            const std::lock_guard lock(mutex_);
            if (answer.status == 200) served_[i % requests_.size()] = answer.asked;
            answers_.push_back(std::move(answer));
        }
        std::this_thread::sleep_for(milliseconds(20));
    }
}

void expect_clear(const std::vector<Prober::Answer>& answers) {
    int refused = 0;
    milliseconds slowest{0};
    for (const auto& answer : answers) {
        EXPECT_LE(answer.took, kRefusedWithin) << answer.body;
        if (answer.status == 200) continue;
        ++refused;
        slowest = std::max(slowest, answer.took);
        EXPECT_EQ(answer.status, 503U) << answer.body;
        EXPECT_EQ(nlohmann::json::parse(answer.body, nullptr, false).value("code", ""), "unavailable") << answer.body;
    }
    std::printf("%zu requests, %d refused, the slowest refusal after %lld ms\n", answers.size(), refused,
                static_cast<long long>(slowest.count()));
}

}  // namespace sandbox::test
