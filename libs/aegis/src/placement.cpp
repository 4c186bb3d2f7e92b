#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include <sandbox/aegis/aegis.hpp>

#include "fleet_data.hpp"

namespace sandbox::aegis {

namespace {

constexpr std::size_t kGates = kGateNames.size();
constexpr std::int64_t kAntiAffinityCost = 200;

/// What is asked of every node, worked out once for a pass.
struct Question {
    domain::Resources asked;
    std::uint8_t tier = 0;  // its bit
    bool wants_tunnels = false;
    Timestamp now;
    Policy policy;
    const SlotSet* image = nullptr;   // nullptr: no node has it
    const SlotSet* region = nullptr;  // nullptr: no preference, or no node is there
    bool has_region = false;
    std::vector<const SlotSet*> labels;       // a nullptr: no node has it
    std::vector<std::int64_t> anti_affinity;  // points by slot; empty: none
};

/// The smallest and the largest of what remains after placing, as fractions of a node's total.
struct Remaining {
    double least = 1;
    double most = 0;
};

double fraction(std::int64_t available, std::int64_t asked, std::int64_t total) {
    return total > 0 ? static_cast<double>(available - asked) / static_cast<double>(total) : 0.0;
}

Remaining remaining(const Row& row, const domain::Resources& asked) {
    const std::array fractions{fraction(row.available.cpu_millis, asked.cpu_millis, row.total.cpu_millis),
                               fraction(row.available.memory_mib, asked.memory_mib, row.total.memory_mib),
                               fraction(row.available.disk_mib, asked.disk_mib, row.total.disk_mib),
                               fraction(row.available.pids, asked.pids, row.total.pids)};
    Remaining result;
    for (const double value : fractions) {
        result.least = std::min(result.least, value);
        result.most = std::max(result.most, value);
    }
    return result;
}

bool is_stale(const Row& row, const Question& question) {
    return std::chrono::duration_cast<std::chrono::seconds>(question.now - row.last_seen) >
           question.policy.heartbeat_timeout;
}

bool is_pressed(float pressure, const Policy& policy) {
    return !std::isfinite(pressure) || pressure >= 1.0F || pressure > policy.max_host_pressure;
}

bool fits(const domain::Resources& asked, const domain::Resources& available) {
    return asked.cpu_millis <= available.cpu_millis && asked.memory_mib <= available.memory_mib &&
           asked.disk_mib <= available.disk_mib && asked.pids <= available.pids;
}

bool has_labels(Slot slot, const Question& question) {
    return std::ranges::all_of(question.labels, [&](const SlotSet* set) { return set && set->contains(slot); });
}

/// The first gate that holds, or kGates when none does.
std::size_t first_gate(const Row& row, Slot slot, const Question& question, Remaining& left) {
    const auto index = [](Gate gate) { return static_cast<std::size_t>(gate); };
    if (row.draining) return index(Gate::draining);
    if (is_stale(row, question)) return index(Gate::stale);
    if (is_pressed(row.pressure, question.policy)) return index(Gate::pressure);
    if ((row.tiers & question.tier) == 0) return index(Gate::isolation);
    if (question.wants_tunnels && !row.tunnels) return index(Gate::tunnels);
    if (!fits(question.asked, row.available)) return index(Gate::resources);
    if (row.max_sandboxes > 0 && row.running_sandboxes >= row.max_sandboxes) return index(Gate::sandbox_limit);
    if (!has_labels(slot, question)) return index(Gate::labels);
    left = remaining(row, question.asked);
    if (left.least < question.policy.reserve_ratio) return index(Gate::reserve);
    return kGates;
}

double clamped(float pressure) {
    return static_cast<double>(std::clamp(pressure, 0.0F, 1.0F));
}

std::int64_t score_of(const Row& row, Slot slot, const Question& question, const Remaining& left) {
    std::int64_t score = 1000 + std::llround(500.0 * left.least);
    if (question.image && question.image->contains(slot)) score += 120;
    if (!question.has_region)
        score += 20;
    else if (question.region && question.region->contains(slot))
        score += 80;
    if (left.least < 0.35)
        score += 70;
    else if (left.least == 0.35)
        score += 50;
    score -= std::llround(220.0 * (left.most - left.least));
    score -= std::llround(300.0 * clamped(row.pressure));
    if (!question.anti_affinity.empty()) score -= question.anti_affinity[slot];
    return score;
}

/// By bytes.
bool is_smaller(const domain::NodeId& left, const domain::NodeId& right) {
    return left.uuid.bytes < right.uuid.bytes;
}

Rejected named(const std::array<std::int64_t, kGates>& counts) {
    Rejected rejected;
    for (const auto& [name, gate] : kGateNames)
        if (const auto count = counts[static_cast<std::size_t>(gate)]; count != 0) rejected.emplace(name, count);
    return rejected;
}

std::vector<std::string> reasons(const Decision& decision, const Row& row, const Remaining& left, bool warm) {
    return {fmt::format("risk={}; required_isolation={}", decision.risk, to_text(decision.tier)),
            fmt::format("dominant_headroom={:.3f}", left.least),
            fmt::format("resource_fragmentation={:.3f}", left.most - left.least),
            fmt::format("host_pressure={:.3f}", clamped(row.pressure)), fmt::format("warm_image={}", warm)};
}

Question question_of(const FleetData& data, const domain::SandboxSpec& spec, domain::Tier tier, const Policy& policy,
                     Timestamp now) {
    Question question{.asked = spec.resources,
                      .tier = tier_bit(tier),
                      .wants_tunnels = !spec.exposures.empty(),
                      .now = now,
                      .policy = policy,
                      .image = data.images.find(spec.image),
                      .region = nullptr,
                      .has_region = spec.placement.preferred_region.has_value(),
                      .labels = {},
                      .anti_affinity = {}};
    if (question.has_region) question.region = data.regions.find(*spec.placement.preferred_region);
    for (const auto& [key, value] : spec.placement.required_labels)
        question.labels.push_back(data.labels.find(pair(key, value)));
    const std::set<std::string> keys(spec.placement.anti_affinity_keys.begin(),
                                     spec.placement.anti_affinity_keys.end());
    for (const auto& key : keys) {
        const auto label = spec.labels.find(key);
        if (label == spec.labels.end()) continue;
        question.anti_affinity.resize(data.rows.size());
        for (const auto& entry : data.live.find(tenant_pair(spec.tenant, key, label->second)))
            question.anti_affinity[entry.slot] += kAntiAffinityCost;
    }
    return question;
}

/// What one pass over the fleet found.
struct Pass {
    std::array<std::int64_t, kGates> rejected{};
    std::optional<Slot> best;
    std::int64_t score = 0;
    Remaining left;
};

Pass pass_over(const FleetData& data, const Question& question) {
    Pass pass;
    for (Slot slot = 0; slot < data.rows.size(); ++slot) {
        const auto& row = data.rows[slot];
        if (!row.present) continue;
        Remaining left;
        if (const auto gate = first_gate(row, slot, question, left); gate != kGates) {
            ++pass.rejected[gate];
            continue;
        }
        const auto score = score_of(row, slot, question, left);
        const bool wins = !pass.best || score > pass.score ||
                          (score == pass.score && is_smaller(data.identities[slot].id, data.identities[*pass.best].id));
        if (!wins) continue;
        pass.best = slot;
        pass.score = score;
        pass.left = left;
    }
    return pass;
}

}  // namespace

Outcome Fleet::place(const domain::SandboxSpec& spec, const Policy& policy, Timestamp now) const {
    const auto risk = risk_score(spec);
    const auto tier = required_tier(risk, spec.isolation, policy);
    const auto question = question_of(*data_, spec, tier, policy, now);
    const auto pass = pass_over(*data_, question);

    const auto nodes = static_cast<std::int64_t>(data_->present);
    if (!pass.best) return Refusal{.tier = tier, .risk = risk, .nodes = nodes, .rejected = named(pass.rejected)};
    Decision decision{.node = data_->identities[*pass.best].id,
                      .tier = tier,
                      .risk = risk,
                      .score = pass.score,
                      .reasons = {},
                      .nodes = nodes,
                      .rejected = named(pass.rejected)};
    const bool warm = question.image && question.image->contains(*pass.best);
    decision.reasons = reasons(decision, data_->rows[*pass.best], pass.left, warm);
    return decision;
}

}  // namespace sandbox::aegis
