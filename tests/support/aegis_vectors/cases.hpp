#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sandbox/aegis/aegis.hpp>
#include <sandbox/base/error.hpp>

namespace sandbox::aegis {

/// A node of a worked case, and what lives there: label pairs of the new sandbox's tenant.
struct CaseNode {
    domain::Node node;
    std::vector<std::map<std::string, std::string>> live;
};

/// One worked case: what goes in, and what must come out.
struct Case {
    std::string name;
    Policy policy;
    domain::SandboxSpec spec;
    std::vector<CaseNode> nodes;

    std::int64_t risk = 0;
    domain::Tier isolation = domain::Tier::container;
    std::optional<domain::NodeId> node;
    std::optional<std::int64_t> score;
    std::map<std::string, std::int64_t> rejected;
};

/// The moment at which every case is decided: nodes give their age.
[[nodiscard]] Timestamp decision_time();

/// {"cases": [{name, policy, spec, nodes, expect}]}. Errors: invalid_argument with every problem and its path.
[[nodiscard]] Result<std::vector<Case>> read_cases(std::string_view text);

/// What came out otherwise than expected; empty when all is right.
[[nodiscard]] std::vector<std::string> check(const Case& one);

}  // namespace sandbox::aegis
