// How sandboxes come and go.
#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sandbox/base/json_reader.hpp>
#include <sandbox/base/text.hpp>

#include "checks.hpp"
#include "host_view.hpp"

namespace sandbox::driver_check {

namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

Task<std::string> probes(Kit& kit) {
    const auto again = co_await kit.runtime().probe(in(20s));
    expect(again);
    expect(again->tiers == kit.capabilities().tiers, "it names other tiers each time");
    std::string tiers;
    for (const auto tier : again->tiers) tiers += (tiers.empty() ? "" : ", ") + std::string(domain::to_text(tier));
    co_return fmt::format("{} {}: {}{}", again->info.name, again->info.version, tiers,
                          again->concurrent_exec ? "; execs side by side" : "; one exec at a time");
}

/// The first may make what the others use again (an empty file system, an unpacked image), and of three others the
/// middle one is told.
Task<std::string> creates(Kit& kit) {
    std::array<std::int64_t, 4> took{};
    for (auto& each : took) {
        const auto begun = Clock::now();
        const auto id = co_await kit.create();
        each = since(begun).count();
        const auto said = co_await kit.exec(id, command({"echo", "ready"}));
        expect(said.output.exit_code == 0 && said.output.stdout_text == "ready\n", describe(said));
    }
    std::sort(took.begin() + 1, took.end());
    co_return fmt::format("the first {} ms, then {} ms", took[0], took[2]);
}

Task<std::string> creates_again(Kit& kit) {
    const auto id = co_await kit.create();
    co_await kit.sh(id, "echo kept > kept");
    const auto again = co_await kit.try_create(id, kit.spec());
    expect(again);
    const auto kept = co_await kit.sh(id, "cat kept");
    expect(kept.output.stdout_text == "kept\n", "the second create did not leave the sandbox as it was");
    co_return "";
}

Task<std::string> refuses_a_missing_image(Kit& kit) {
    auto spec = kit.spec();
    spec.image = "missing/no-such-image:local";
    const auto id = kit.new_id();
    const auto created = co_await kit.try_create(id, std::move(spec));
    expect(!created, "a sandbox was made of an image that does not exist");
    expect(!co_await kit.works(id), "after the failed create, commands run");
    co_return created.error().message();
}

Task<std::string> starts_the_start_up_command(Kit& kit) {
    auto spec = kit.spec();
    spec.command = {"sh", "-c", "echo \"$1\" > started; sleep 300", "sh", "a  b"};
    const auto id = co_await kit.create(std::move(spec));
    for (int attempt = 0; attempt < 100; ++attempt) {
        const auto seen = co_await kit.sh(id, "cat started");
        if (seen.output.stdout_text == "a  b\n") co_return "";
        co_await kit.pause(50ms);
    }
    throw Broken("spec.command was not run in /workspace");
}

/// A sandbox with a start-up command and something in the background of an exec, both under way.
Task<domain::SandboxId> create_busy(Kit& kit) {
    // With the word in its command line too, for who may not read its environment.
    const auto goes_on = [&](std::string_view first) {
        return std::vector{"sh"s, "-c"s, fmt::format("{}while :; do sleep 1; done", first), "sh"s, kit.word()};
    };
    auto spec = kit.spec();
    spec.command = goes_on("echo > started; ");
    const auto id = co_await kit.create(std::move(spec));
    auto in_background = shell("\"$@\" > background 2>&1 & until [ -e started ]; do sleep 0.05; done", 5);
    in_background.argv.emplace_back("sh");
    std::ranges::copy(goes_on(""), std::back_inserter(in_background.argv));
    // Whether the start-up command runs is another check.
    (void)co_await kit.try_exec(id, std::move(in_background));
    co_return id;
}

Task<std::string> deletes(Kit& kit) {
    const auto id = co_await create_busy(kit);
    const bool seen = !processes_with(kit.word()).empty();
    const auto begun = Clock::now();
    co_await kit.remove(id);
    const auto took = since(begun).count();
    co_await kit.expect_nothing_runs();
    const auto mounts = mounts_with(id.text());
    expect(mounts.empty(), mounts.empty() ? "" : "a mount of it is left: " + mounts.front());
    co_await kit.remove(id);
    expect(!co_await kit.works(id), "commands run in a sandbox that was deleted");
    co_return fmt::format("{} ms; {}", took,
                          seen ? "nothing of it is left" : "what ran in it can't be seen from this host");
}

Task<std::string> deletes_the_unknown(Kit& kit) {
    co_await kit.remove(kit.new_id());
    co_return "";
}

Task<std::string> deletes_with_a_command_under_way(Kit& kit) {
    const auto id = co_await kit.create();
    const auto running = co_await begin(kit.try_exec(id, shell("sleep 120", 200)));
    co_await kit.pause(300ms);
    const auto begun = Clock::now();
    co_await kit.remove(id);
    expect(co_await running.wait(in(10s)), "the command's exec goes on after the delete");
    co_return fmt::format("{} ms", since(begun).count());
}

Task<std::string> lists(Kit& kit) {
    const auto contains = [](const std::vector<domain::SandboxId>& ids, domain::SandboxId id) {
        return std::ranges::find(ids, id) != ids.end();
    };
    auto others = co_await kit.listed();
    // Those that another check could not delete may be there.
    if (kit.settings().is_alone) others = kit.not_deleted();
    const auto first = co_await kit.create();
    const auto second = co_await kit.create();
    auto ids = co_await kit.listed();
    expect(contains(ids, first) && contains(ids, second), "a sandbox that is there is not listed");
    for (const auto id : ids)
        expect(id == first || id == second || contains(others, id), "it lists " + id.text() + ", which was never made");
    co_await kit.remove(first);
    ids = co_await kit.listed();
    expect(!contains(ids, first), "a sandbox that was deleted is still listed");
    expect(contains(ids, second), "a sandbox is not listed any more after another's delete");
    co_return "";
}

/// Whether a driver's answer says that it did what it was asked; Broken when it says neither that nor the opposite.
bool says_success(const std::string& answer) {
    const auto document = parse_json(answer);
    const bool tells =
        document && document->is_object() && document->contains("success") && document->at("success").is_boolean();
    constexpr std::size_t kShown = 100;
    expect(tells, "its answer is no object with success true or false: " + shortened(answer, kShown));
    return document->at("success").get<bool>();
}

Task<std::string> refuses_other_tiers(Kit& kit) {
    auto* driver = kit.settings().driver;
    if (driver == nullptr) throw NotOffered("is no driver");
    const auto& tiers = kit.capabilities().tiers;
    for (const auto& [name, tier] : domain::kTierNames) {
        if (std::ranges::find(tiers, tier) != tiers.end()) continue;
        const auto id = kit.new_id();
        nlohmann::json payload{{"spec", kit.spec()}, {"isolation", name}};
        payload["spec"]["env"][Kit::kWordVariable] = kit.word();
        const auto answer = co_await driver->ask_anything("create", id, std::move(payload), 120s);
        // A run that fails is a create that fails.
        expect(!answer || !says_success(*answer),
               fmt::format("a create with isolation {} went well, and its probe names no such tier", name));
        expect(!co_await kit.works(id), fmt::format("commands run in a sandbox that was to be isolated as {}", name));
        co_return fmt::format("{} is refused", name);
    }
    co_return "it offers every tier";
}

Task<std::string> refuses_unknown_actions(Kit& kit) {
    auto* driver = kit.settings().driver;
    if (driver == nullptr) throw NotOffered("is no driver");
    const auto answer = co_await driver->ask_anything("no-such-action", kit.new_id(), nullptr, 10s);
    expect(answer.has_value(), answer ? "" : "instead of an answer with success false: " + answer.error().message());
    expect(!says_success(*answer), "the action no-such-action was answered with success true");
    co_return "";
}

Task<Result<void>> round_trip(Kit& kit) {
    const auto id = kit.new_id();
    auto created = co_await kit.try_create(id, kit.spec());
    if (!created) co_return created;
    auto said = co_await kit.try_exec(id, command({"echo", id.text()}));
    if (!said) co_return fail(std::move(said.error()));
    if (said->output.stdout_text != id.text() + "\n") co_return fail(Code::internal, describe(*said));
    co_return co_await kit.runtime().destroy(id);
}

Task<std::string> comes_and_goes_many_times(Kit& kit) {
    constexpr int kRounds = 5;
    constexpr int kSideBySide = 4;
    const auto before = kit.has("inventory") ? (co_await kit.listed()).size() : 0;
    const auto begun = Clock::now();
    for (int round = 0; round < kRounds; ++round) {
        std::vector<Task<Result<void>>> trips;
        for (int i = 0; i < kSideBySide; ++i) trips.push_back(round_trip(kit));
        const auto ends = co_await all(std::move(trips));
        for (const auto& end : ends) expect(end);
    }
    if (kit.has("inventory"))
        expect((co_await kit.listed()).size() == before, "sandboxes that were deleted are still listed");
    co_return fmt::format("{} creates, execs and deletes, {} at a time, in {} ms", kRounds * kSideBySide, kSideBySide,
                          since(begun).count());
}

/// Wherever the create is, a delete ends it and leaves nothing.
Task<std::string> deletes_what_is_being_created(Kit& kit) {
    for (const auto delay : {0ms, 10ms, 30ms, 60ms, 100ms, 200ms}) {
        const auto id = kit.new_id();
        const auto creating = co_await begin(kit.try_create(id, kit.spec()));
        co_await kit.pause(delay);
        co_await kit.remove(id);
        expect(co_await creating.wait(in(10s)), "the create goes on after the delete");
        expect(!co_await kit.works(id),
               fmt::format("after a delete that came {} ms into the create, commands run", delay.count()));
        expect(!co_await kit.lists(id),
               fmt::format("after a delete that came {} ms into the create, it is listed", delay.count()));
    }
    co_return "";
}

constexpr std::array kChecks{
    Check{"probe", true, "says what it is, the same each time", probes},
    Check{"create", true, "a create that has returned can run commands", creates},
    Check{"create-again", true, "a create of what is there is no error and changes nothing", creates_again},
    Check{"create-missing-image", true, "an image that does not exist fails the create", refuses_a_missing_image},
    Check{"create-other-tier", true, "a tier that the probe does not name is refused", refuses_other_tiers},
    Check{"create-start-up", true, "the start-up command runs, with its arguments", starts_the_start_up_command},
    Check{"delete", true, "a delete leaves nothing that runs, and a second one is no error", deletes},
    Check{"delete-unknown", true, "a delete of nothing is no error", deletes_the_unknown},
    Check{"delete-busy", true, "a delete ends the commands that are under way", deletes_with_a_command_under_way},
    Check{"delete-create", true, "a delete at any moment of a create wins", deletes_what_is_being_created},
    Check{"list", false, "names exactly the sandboxes that are there", lists},
    Check{"unknown-action", true, "an action that is not known is answered with success false",
          refuses_unknown_actions},
    Check{"repeat", true, "creates, execs and deletes again and again, several side by side",
          comes_and_goes_many_times},
};

}  // namespace

std::span<const Check> life_checks() {
    return kChecks;
}

}  // namespace sandbox::driver_check
