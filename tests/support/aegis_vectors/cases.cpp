#include "cases.hpp"

#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sandbox/base/json_reader.hpp>

namespace sandbox::aegis {

namespace {

constexpr auto kIgnore = UnknownFields::ignore;
constexpr double kAnyNumber = std::numeric_limits<double>::max();
constexpr std::int64_t kMostPoints = 1'000'000;

/// Only what placement reads, and any quantity: a worked case may try what a request may not ask for.
domain::Resources read_quantities(const nlohmann::json& json, const std::string& path, Problems& problems) {
    return domain::read_resources(json, path, problems, kIgnore);
}

Policy read_policy(ObjectReader& of_case) {
    Policy policy;
    const auto* json = of_case.field("policy");
    if (!json) return policy;
    ObjectReader reader(*json, of_case.path_of("policy"), of_case.problems(), kIgnore);
    policy.microvm_risk_threshold = static_cast<int>(
        reader.optional_integer("microvm_risk_threshold", 0, 101).value_or(policy.microvm_risk_threshold));
    policy.heartbeat_timeout =
        std::chrono::seconds(reader.optional_integer("heartbeat_timeout_seconds", 0, 1'000'000'000)
                                 .value_or(policy.heartbeat_timeout.count()));
    if (const auto value = reader.optional_number("max_host_pressure", 0, kAnyNumber))
        policy.max_host_pressure = static_cast<float>(*value);
    policy.reserve_ratio = reader.optional_number("reserve_ratio", 0, 1).value_or(policy.reserve_ratio);
    return policy;
}

domain::SandboxSpec read_case_spec(ObjectReader& of_case) {
    const auto* json = of_case.required_field("spec");
    if (!json) return {};
    // Resources by themselves: the floors of a request are no business of placement.
    auto rest = *json;
    if (rest.is_object()) rest.erase("resources");
    const auto path = of_case.path_of("spec");
    auto spec = domain::read_spec(rest, path, of_case.problems(), kIgnore);
    ObjectReader reader(*json, path, of_case.problems(), kIgnore);
    if (const auto* resources = reader.field("resources"))
        spec.resources = read_quantities(*resources, reader.path_of("resources"), of_case.problems());
    return spec;
}

CaseNode read_case_node(const ObjectReader::Element& element, Problems& problems) {
    ObjectReader reader(element.value, element.path, problems, kIgnore);
    CaseNode result;
    auto& node = result.node;
    const auto id = domain::NodeId::parse(reader.string("id"));
    if (!id) reader.problem("id", "must be a UUID");
    node.id = id.value_or(domain::NodeId{});
    node.region = reader.optional_string("region").value_or("");
    node.labels = reader.string_map("labels");
    if (const auto* capacity = reader.required_field("capacity"))
        node.capacity = domain::read_capacity(*capacity, reader.path_of("capacity"), problems);
    for (const auto& name : reader.strings("supported_tiers")) {
        const auto known = std::ranges::find(domain::kTierNames, name, [](const auto& entry) { return entry.first; });
        if (known == domain::kTierNames.end())
            reader.problem("supported_tiers", "must hold container and microvm only");
        else
            node.supported_tiers.push_back(known->second);
    }
    node.warm_images = reader.strings("warm_images");
    node.pressure = static_cast<float>(reader.optional_number("pressure", -kAnyNumber, kAnyNumber).value_or(0));
    node.draining = reader.boolean_or("draining", false);
    node.supports_http_tunnels = reader.boolean_or("supports_http_tunnels", false);
    const auto age = reader.optional_number("age_seconds", -1e9, 1e9).value_or(0);
    node.last_seen = decision_time() - std::chrono::microseconds(std::llround(age * 1e6));
    for (const auto& pair : reader.array("live_labels_of_tenant")) {
        if (pair.value.is_array() && pair.value.size() == 2 && pair.value[0].is_string() && pair.value[1].is_string())
            result.live.push_back({{pair.value[0].get<std::string>(), pair.value[1].get<std::string>()}});
        else
            problems.add(pair.path, "must be [label, value]");
    }
    return result;
}

void read_expectation(ObjectReader& of_case, Case& one) {
    const auto* json = of_case.required_field("expect");
    if (!json) return;
    ObjectReader reader(*json, of_case.path_of("expect"), of_case.problems(), kIgnore);
    one.risk = reader.integer("risk_score", 0, 100);
    one.isolation = reader.enumeration<domain::Tier>("isolation", domain::kTierNames, std::nullopt);
    if (const auto text = reader.optional_string("node_id")) {
        one.node = domain::NodeId::parse(*text);
        if (!one.node) reader.problem("node_id", "must be a UUID");
    }
    one.score = reader.optional_integer("placement_score", -kMostPoints, kMostPoints);
    const auto* rejected = reader.field("rejected");
    if (!rejected) return;
    if (!rejected->is_object()) {
        reader.problem("rejected", "must be an object of numbers");
        return;
    }
    ObjectReader counts(*rejected, reader.path_of("rejected"), of_case.problems(), kIgnore);
    for (const auto& [gate, count] : rejected->items())
        one.rejected[gate] = counts.integer(gate, 0, std::numeric_limits<std::int64_t>::max());
    std::erase_if(one.rejected, [](const auto& entry) { return entry.second == 0; });
}

std::string text_of(const Rejected& rejected) {
    std::string text;
    for (const auto& [gate, count] : rejected) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", gate, count);
    return text.empty() ? "none" : text;
}

}  // namespace

Timestamp decision_time() {
    return Timestamp(std::chrono::sys_days(std::chrono::year(2026) / 11 / 30));
}

Result<std::vector<Case>> read_cases(std::string_view text) {
    auto json = parse_json(text);
    if (!json) return fail(std::move(json.error()));
    Problems problems;
    ObjectReader document(*json, "", problems, kIgnore);
    if (!document.has("cases")) document.problem("cases", "is required");
    std::vector<Case> cases;
    for (const auto& element : document.array("cases")) {
        ObjectReader reader(element.value, element.path, problems, kIgnore);
        auto& one = cases.emplace_back();
        one.name = reader.optional_string("name").value_or(element.path);
        one.policy = read_policy(reader);
        one.spec = read_case_spec(reader);
        for (const auto& node : reader.array("nodes")) one.nodes.push_back(read_case_node(node, problems));
        read_expectation(reader, one);
    }
    if (!problems.empty()) return fail(problems.to_error());
    if (cases.empty()) return fail(Code::invalid_argument, "cases: holds no case");
    return cases;
}

std::vector<std::string> check(const Case& one) {
    Fleet fleet;
    for (const auto& [node, live] : one.nodes) {
        fleet.upsert(node);
        for (const auto& labels : live) fleet.add_live(node.id, one.spec.tenant, labels);
    }
    const auto outcome = fleet.place(one.spec, one.policy, decision_time());

    std::vector<std::string> wrong;
    const auto expect = [&](std::string_view what, const std::string& expected, const std::string& got) {
        if (expected != got) wrong.push_back(fmt::format("{}: expected {}, got {}", what, expected, got));
    };
    const auto* decision = std::get_if<Decision>(&outcome);
    const auto* refusal = std::get_if<Refusal>(&outcome);
    const auto score = decision ? std::optional(decision->score) : std::nullopt;
    expect("risk_score", std::to_string(one.risk), std::to_string(decision ? decision->risk : refusal->risk));
    expect("isolation", std::string(to_text(one.isolation)),
           std::string(to_text(decision ? decision->tier : refusal->tier)));
    expect("node_id", one.node ? one.node->text() : "none", decision ? decision->node.text() : "none");
    expect("placement_score", one.score ? std::to_string(*one.score) : "none", score ? std::to_string(*score) : "none");
    expect("rejected", text_of(one.rejected), text_of(decision ? decision->rejected : refusal->rejected));
    return wrong;
}

}  // namespace sandbox::aegis
