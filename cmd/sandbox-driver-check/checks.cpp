#include "checks.hpp"

namespace sandbox::driver_check {

namespace {

Task<void> look(Kit& kit, const Check& check, Verdict& verdict) {
    try {
        verdict.detail = co_await check.look(kit);
        verdict.held = Verdict::Held::yes;
    } catch (const NotOffered& why) {
        verdict = {.held = Verdict::Held::not_offered, .detail = why.what()};
    } catch (const NotJudged& why) {
        verdict = {.held = Verdict::Held::not_judged, .detail = why.what()};
    } catch (const Broken& wrong) {
        verdict = {.held = Verdict::Held::no, .detail = wrong.what()};
    }
}

Task<void> tidy_up(Kit& kit, Verdict& verdict) {
    try {
        co_await kit.remove_all();
        co_await kit.expect_nothing_runs();
    } catch (const Broken& wrong) {
        verdict = {.held = Verdict::Held::no,
                   .detail = std::string("what it made could not be deleted: ") + wrong.what()};
    }
}

}  // namespace

Task<Verdict> look_at(Kit& kit, const Check& check) {
    const auto begun = Clock::now();
    kit.begin_check();
    Verdict verdict;
    co_await look(kit, check, verdict);
    co_await tidy_up(kit, verdict);
    verdict.took = since(begun);
    co_return verdict;
}

}  // namespace sandbox::driver_check
