#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>

#include "kit.hpp"

namespace sandbox::driver_check {

/// One thing that a runtime promises.
struct Check {
    std::string_view name;
    bool required;
    std::string_view promise;
    /// Ends with what was seen, for the table; throws Broken, NotOffered or NotJudged.
    Task<std::string> (*look)(Kit& kit);
};

struct Verdict {
    enum class Held { yes, no, not_offered, not_judged };
    Held held = Held::no;
    std::string detail;
    std::chrono::milliseconds took{0};
};

/// What a sandbox that may use a quarter of a processor, and would use all, used of it in that time; all in seconds.
/// `spare` is what the host's processors had left over meanwhile. Throws Broken, or NotJudged when a busy host may be
/// all that held the sandbox back.
void judge_cpu(double used, double took, double spare);

/// Looks at one, and removes what it made; that this works is part of it.
[[nodiscard]] Task<Verdict> look_at(Kit& kit, const Check& check);

// By what they look at; each in a file of its own.
[[nodiscard]] std::span<const Check> life_checks();
[[nodiscard]] std::span<const Check> exec_checks();
[[nodiscard]] std::span<const Check> limit_checks();
[[nodiscard]] std::span<const Check> crash_checks();

}  // namespace sandbox::driver_check
