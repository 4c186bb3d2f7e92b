#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace sandbox::test {

/// Asks one controller again and again, as an impatient client does, and keeps what it was told. Its requests change
/// nothing. On a thread of its own.
class Prober {
public:
    using Moment = std::chrono::steady_clock::time_point;
    struct Request {
        std::string method;
        std::string target;
        std::string body;
    };
    struct Answer {
        Moment asked;
        std::chrono::milliseconds took;
        unsigned status = 0;
        std::string body;
    };
    Prober(std::string address, std::vector<Request> requests);
    ~Prober();
    Prober(const Prober&) = delete;
    Prober& operator=(const Prober&) = delete;

    /// Ends it; gives all answers.
    std::vector<Answer> stop();
    /// Whether a request of each kind that was made after the moment has been served.
    [[nodiscard]] bool serves_since(Moment moment) const;

    /// Reads, and a write that leaves everything as it is.
    [[nodiscard]] static std::vector<Request> harmless(const std::string& node_id);

private:
    void run();

    std::string address_;
    std::vector<Request> requests_;
    std::atomic<bool> over_ = false;
    mutable std::mutex mutex_;
    std::vector<Answer> answers_;
    std::vector<Moment> served_;  // when the last served request of each kind was made
    std::thread thread_;
};

/// Five seconds are promised for a refusal. A loaded machine may take a while to run anything at all.
inline constexpr std::chrono::milliseconds kRefusedWithin{5000 + 3000};

/// Every answer was a success or a clear 503, and came in time. Prints how many refusals there were and the slowest.
void expect_clear(const std::vector<Prober::Answer>& answers);

}  // namespace sandbox::test
