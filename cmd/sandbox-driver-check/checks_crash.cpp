// What a driver that is killed in the middle leaves is met by the next calls.
#include <array>
#include <chrono>

#include <fmt/format.h>

#include "checks.hpp"

namespace sandbox::driver_check {

namespace {

using namespace std::chrono_literals;

void need_driver(const Kit& kit) {
    if (!kit.settings().kill_driver) throw NotOffered("has no driver to kill");
}

Task<void> kill_when_there(Kit& kit, std::string_view action) {
    for (int attempt = 0; attempt < 500; ++attempt) {
        if (kit.settings().kill_driver(action)) co_return;
        co_await kit.pause(2ms);
    }
    throw Broken(fmt::format("no run of {} could be found to kill", action));
}

Task<std::string> survives_a_cut_create(Kit& kit) {
    need_driver(kit);
    int cut = 0;
    for (const auto delay : {1ms, 10ms, 30ms, 60ms, 120ms}) {
        const auto id = kit.new_id();
        const auto creating = co_await begin(kit.try_create(id, kit.spec()));
        co_await kit.pause(delay);
        (void)kit.settings().kill_driver("create");
        expect(co_await creating.wait(in(90s)), "a create whose driver was killed goes on");
        if (!creating.result->value()) ++cut;
        co_await kit.remove(id);
        expect(!co_await kit.lists(id), "a create that was cut off is still listed after the delete");
        // What was left of the first is nobody's trouble.
        const auto again = co_await kit.try_create(id, kit.spec());
        expect(again.has_value(), again ? "" : "the create after it: " + again.error().message());
        const auto said = co_await kit.exec(id, command({"echo", "again"}));
        expect(said.output.stdout_text == "again\n", describe(said));
    }
    co_return fmt::format("{} creates were cut off", cut);
}

Task<std::string> survives_a_cut_exec(Kit& kit) {
    need_driver(kit);
    const auto id = co_await kit.create();
    const auto running = co_await begin(kit.try_exec(id, shell("sleep 30", 60)));
    co_await kill_when_there(kit, "exec");
    expect(co_await running.wait(in(30s)), "an exec whose driver was killed goes on");
    expect(!running.result->value(), "an exec whose driver was killed went well");
    const auto said = co_await kit.exec(id, command({"echo", "next"}));
    expect(said.output.stdout_text == "next\n", "the next exec: " + describe(said));
    co_return running.result->value().error().message();
}

Task<std::string> survives_a_cut_delete(Kit& kit) {
    need_driver(kit);
    for (const auto delay : {1ms, 10ms, 30ms}) {
        const auto id = co_await kit.create();
        const auto deleting = co_await begin(kit.runtime().destroy(id));
        co_await kit.pause(delay);
        (void)kit.settings().kill_driver("delete");
        expect(co_await deleting.wait(in(90s)), "a delete whose driver was killed goes on");
        co_await kit.remove(id);
        expect(!co_await kit.works(id), "after a second delete, commands run");
    }
    co_return "";
}

constexpr std::array kChecks{
    Check{"crash-create", true, "a create that was cut off can be deleted and made again", survives_a_cut_create},
    Check{"crash-exec", true, "an exec that was cut off leaves a sandbox that works", survives_a_cut_exec},
    Check{"crash-delete", true, "a delete that was cut off can be repeated", survives_a_cut_delete},
};

}  // namespace

std::span<const Check> crash_checks() {
    return kChecks;
}

}  // namespace sandbox::driver_check
