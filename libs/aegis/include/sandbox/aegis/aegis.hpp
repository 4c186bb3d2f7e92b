#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <sandbox/base/time.hpp>
#include <sandbox/domain/ids.hpp>
#include <sandbox/domain/node.hpp>
#include <sandbox/domain/spec.hpp>

namespace sandbox::aegis {

/// The deployment's settings of the placement pass.
struct Policy {
    int microvm_risk_threshold = 55;  // 0 to 101; 101 turns the rule off
    std::chrono::seconds heartbeat_timeout{45};
    float max_host_pressure = 0.92F;
    double reserve_ratio = 0.05;
};

/// 0 to 100, from the spec's sensitivity, network, signals, exposures and TTL. docs/aegis.md has the table.
[[nodiscard]] int risk_score(const domain::SandboxSpec& spec);

/// The isolation that this risk demands: microvm at or above the threshold, else what was preferred.
[[nodiscard]] domain::Tier required_tier(int risk, domain::IsolationPreference preference, const Policy& policy);

/// The hard gates, in the order in which they are tried.
enum class Gate { draining, stale, pressure, isolation, tunnels, resources, sandbox_limit, labels, reserve };
inline constexpr domain::Names<Gate, 9> kGateNames{{{"draining", Gate::draining},
                                                    {"stale", Gate::stale},
                                                    {"pressure", Gate::pressure},
                                                    {"isolation", Gate::isolation},
                                                    {"tunnels", Gate::tunnels},
                                                    {"resources", Gate::resources},
                                                    {"sandbox_limit", Gate::sandbox_limit},
                                                    {"labels", Gate::labels},
                                                    {"reserve", Gate::reserve}}};

/// How many nodes each gate removed; a gate that removed none is left out. A node counts at the first that holds.
using Rejected = std::map<std::string, std::int64_t>;

/// The node that was chosen, and why.
struct Decision {
    domain::NodeId node;
    domain::Tier tier = domain::Tier::container;
    int risk = 0;
    std::int64_t score = 0;
    std::vector<std::string> reasons;
    std::int64_t nodes = 0;  // looked at
    Rejected rejected;
};

/// Why no node was chosen.
struct Refusal {
    domain::Tier tier = domain::Tier::container;
    int risk = 0;
    std::int64_t nodes = 0;  // looked at
    Rejected rejected;
};

using Outcome = std::variant<Decision, Refusal>;

/// What placement reads of all nodes: one flat array of what the gates and the rank compare, and for each image, label
/// and region one bit per node, so that a pass over ten thousand nodes touches little memory and compares no strings.
/// Kept up to date by the store that owns it; not thread-safe.
class Fleet {
public:
    Fleet();
    ~Fleet();
    Fleet(Fleet&&) noexcept;
    Fleet& operator=(Fleet&&) noexcept;

    /// Adds the node or replaces what is known of it (its live sandboxes stay). capacity.available and
    /// running_sandboxes are taken as they stand: the caller keeps the ledger.
    void upsert(const domain::Node& node);
    void remove(const domain::NodeId& node);  // an unknown one is ignored
    /// The ledger's hot path: only this changes with each placement. An unknown node is ignored.
    void set_capacity(const domain::NodeId& node, const domain::Capacity& capacity);
    /// A live sandbox of this tenant with these labels came to the node, or left it (anti-affinity counts them). The
    /// node may be one that upsert has yet to bring.
    void add_live(const domain::NodeId& node, std::string_view tenant,
                  const std::map<std::string, std::string>& labels);
    void remove_live(const domain::NodeId& node, std::string_view tenant,
                     const std::map<std::string, std::string>& labels);

    /// Nodes that placement looks at.
    [[nodiscard]] std::size_t size() const noexcept;

    /// One deterministic pass; reads no clock. The order in which nodes came makes no difference.
    [[nodiscard]] Outcome place(const domain::SandboxSpec& spec, const Policy& policy, Timestamp now) const;

private:
    struct Data;
    std::unique_ptr<Data> data_;
};

}  // namespace sandbox::aegis
