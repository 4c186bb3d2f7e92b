#include "bridge.hpp"

#include <sandbox/async/clock.hpp>
#include <sandbox/base/id.hpp>

namespace sandbox::mcp {
namespace {

constexpr std::size_t kMostTenants = 1000;

}  // namespace

Bridge::Bridge(asio::any_io_executor executor, Options options)
    : executor_(std::move(executor)), options_(std::move(options)) {
    if (options_.tenant) tenants_.insert(*options_.tenant);
}

client::Client& Bridge::client() {
    if (!client_)
        client_.emplace(
            executor_,
            client::Settings{.server = options_.server, .token = options_.token, .ca_file = options_.ca_file});
    return *client_;
}

std::string Bridge::new_idempotency_key() {
    return Uuid::make_v7(async::SystemClock().now(), random_).text();
}

void Bridge::saw(const domain::Sandbox& sandbox) {
    if (tenants_.size() < kMostTenants) tenants_.insert(sandbox.spec.tenant);
}

}  // namespace sandbox::mcp
