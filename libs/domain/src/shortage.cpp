// What the nodes are short of for one create. The refusal itself says only by which gates, not by which resource.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sandbox/domain/shortage.hpp>

namespace sandbox::domain {
namespace {

/// What placement keeps free of each resource (docs/aegis.md).
constexpr double kReserve = 0.05;

struct Resource {
    std::string_view name;
    std::int64_t Resources::* member;
};
constexpr std::array<Resource, 4> kResources{{{"cpu_millis", &Resources::cpu_millis},
                                              {"memory_mib", &Resources::memory_mib},
                                              {"disk_mib", &Resources::disk_mib},
                                              {"pids", &Resources::pids}}};

/// The most that one sandbox can have of it on this node.
std::int64_t most_of(const Node& node, const Resource& resource) {
    const auto free = static_cast<double>(node.capacity.available.*resource.member);
    const auto kept = kReserve * static_cast<double>(node.capacity.total.*resource.member);
    return std::max<std::int64_t>(0, std::llround(std::floor(free - kept + 1e-6)));
}

struct Found {
    std::int64_t most = 0;                             // on the node that has most
    std::size_t short_of = 0;                          // nodes
    double part = std::numeric_limits<double>::max();  // of what is free there
};

std::string sentence(const Resource& resource, std::int64_t asked, const Found& found) {
    return fmt::format("{} ({} asked, at most {} to be had on a host, which keeps 5 % in reserve)", resource.name,
                       asked, found.most);
}

}  // namespace

std::string short_resources(const std::vector<Node>& nodes, const Resources& asked) {
    std::array<Found, kResources.size()> all{};
    std::size_t looked_at = 0;
    for (const auto& node : nodes) {
        if (node.draining) continue;
        ++looked_at;
        for (std::size_t i = 0; i < kResources.size(); ++i) {
            const auto wanted = asked.*kResources[i].member;
            const auto most = most_of(node, kResources[i]);
            const auto free = std::max<std::int64_t>(1, node.capacity.available.*kResources[i].member);
            all[i].most = std::max(all[i].most, most);
            all[i].short_of += wanted > most ? 1 : 0;
            all[i].part = std::min(all[i].part, static_cast<double>(wanted) / static_cast<double>(free));
        }
    }
    if (looked_at == 0) return "";

    std::vector<std::string> everywhere;
    std::vector<std::string> somewhere;
    std::size_t largest = 0;
    for (std::size_t i = 0; i < kResources.size(); ++i) {
        const auto wanted = asked.*kResources[i].member;
        if (all[i].short_of == looked_at) everywhere.push_back(sentence(kResources[i], wanted, all[i]));
        if (all[i].short_of > 0)
            somewhere.push_back(
                fmt::format("{} ({} asked) on {} of {} hosts", kResources[i].name, wanted, all[i].short_of, looked_at));
        if (all[i].part > all[largest].part) largest = i;
    }
    if (!everywhere.empty()) return fmt::format("{}", fmt::join(everywhere, ", "));
    if (!somewhere.empty()) return fmt::format("{}", fmt::join(somewhere, ", "));
    return sentence(kResources[largest], asked.*kResources[largest].member, all[largest]);
}

}  // namespace sandbox::domain
