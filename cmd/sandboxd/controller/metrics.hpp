#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <sandbox/base/time.hpp>
#include <sandbox/store/store.hpp>

namespace sandbox::sandboxd {

/// The controller's Prometheus metrics. docs/operations.md says what each means.
class Metrics {
public:
    Metrics();
    ~Metrics();

    void request_served(std::string_view method, std::string_view route, unsigned status,
                        std::chrono::microseconds took);
    void events_published(std::size_t count);
    void publish_failed();
    void swept(const store::Swept& swept);

    /// The text exposition of everything counted so far, of the store's numbers now and of how many follow the events.
    [[nodiscard]] std::string exposition(const store::Statistics& statistics, Timestamp now, std::size_t followers);

private:
    struct Families;
    std::unique_ptr<Families> families_;
};

}  // namespace sandbox::sandboxd
