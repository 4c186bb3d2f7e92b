#include "docker/networks.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "docker/names.hpp"
#include "docker/single_flight.hpp"

namespace sandbox::runtime::docker {

Task<Result<std::string>> Networks::provide(domain::Network network, Deadline deadline) {
    if (network == domain::Network::deny) co_return "none";
    while (busy_)
        if (!co_await idle_.wait(deadline))
            co_return fail(Code::deadline_exceeded, "the network was not there in time");
    if (auto known = known_.find(network); known != known_.end()) co_return known->second;
    SingleFlight flight(busy_, idle_);
    auto found = co_await find_or_make(network, deadline);
    if (!found) co_return fail(std::move(found.error()));
    auto id = found->id;
    if (on_found) {
        auto prepared = co_await on_found(network, std::move(*found));
        if (!prepared) co_return fail(std::move(prepared.error()));
    }
    known_[network] = id;
    co_return id;
}

Task<Result<Network>> Networks::find_or_make(domain::Network network, Deadline deadline) {
    bool restricted = network == domain::Network::restricted_egress;
    NetworkRequest request{.name = restricted ? restricted_name_ : std::string(kOpenNetwork),
                           .internal = restricted,
                           .labels = {{std::string(kRoleLabel), "network"}}};
    auto found = co_await find(request.name, network, deadline);
    if (found || found.error().code() != Code::not_found) co_return found;
    auto made = co_await engine_.create_network(request, deadline);
    // Another worker of this host may have been faster.
    if (!made && made.error().code() != Code::conflict) co_return fail(std::move(made.error()));
    co_return co_await find(request.name, network, deadline);
}

Task<Result<Network>> Networks::find(const std::string& name, domain::Network network, Deadline deadline) {
    auto found = co_await engine_.find_networks(name, deadline);
    if (!found) co_return fail(std::move(found.error()));
    if (found->empty()) co_return fail(Code::not_found, fmt::format("no network is named {}", name));
    if (found->size() > 1)
        co_return fail(Code::conflict,
                       fmt::format("{} networks are named {}: remove all but one", found->size(), name));
    // The restricted one may be the operator's own; the open one is ours alone.
    if (network == domain::Network::open_egress && !found->front().labels.contains(std::string(kRoleLabel)))
        co_return fail(Code::conflict,
                       fmt::format("the network {} was not made by this program: remove or rename it", name));
    co_return std::move(found->front());
}

}  // namespace sandbox::runtime::docker
