// The memory store joins the suite.
#include <sandbox/async/clock.hpp>
#include <sandbox/store/memory_store.hpp>

#include "store_contract.hpp"

namespace sandbox::store::contract {
namespace {

class MemoryBackend final : public Backend {
public:
    [[nodiscard]] std::unique_ptr<Store> open(const Settings& settings) override {
        return create_memory_store(settings, clock_, random_);
    }
    [[nodiscard]] Timestamp now() const override { return clock_.now(); }
    void advance(std::chrono::microseconds by) override { clock_.advance(by); }

private:
    async::ManualClock clock_{Timestamp(std::chrono::sys_days(std::chrono::year(2026) / 11 / 30))};
    SeededRandom random_{1};
};

}  // namespace

std::vector<Implementation> implementations() {
    return {{.name = "memory", .create = [](asio::io_context&) -> std::unique_ptr<Backend> {
                 return std::make_unique<MemoryBackend>();
             }}};
}

}  // namespace sandbox::store::contract
