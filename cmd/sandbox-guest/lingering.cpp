#include "lingering.hpp"

#include <algorithm>
#include <utility>

#include "process_tree.hpp"

namespace sandbox::guest {

namespace {

using namespace std::chrono_literals;

constexpr auto kTime = 5s;
constexpr auto kBetweenLooks = 50ms;
constexpr std::size_t kMax = 128;  // each costs a process of the sandbox; more than these are released at once

}  // namespace

void Lingering::add(pid_t supervisor, Fd control, std::optional<std::uint64_t> refused_before) {
    if (trees_.size() == kMax) {
        send_command(trees_.front().control, Command::release);
        trees_.erase(trees_.begin());
    }
    trees_.push_back({.supervisor = supervisor,
                      .control = std::move(control),
                      .refused = refused_before,
                      .until = SteadyClock::now() + kTime});
}

void Lingering::watch(Poller& poller) {
    for (auto& tree : trees_) tree.slot = poller.watch(tree.control.get(), POLLIN);
    if (!trees_.empty()) poller.wake_at(next_look_);
}

void Lingering::handle(const Poller& poller, const Limits& limits) {
    if (trees_.empty()) return;
    const auto now = SteadyClock::now();
    std::erase_if(trees_, [&](Tree& tree) {
        const auto slot = std::exchange(tree.slot, Poller::kNone);
        if (poller.events(slot) != 0 && has_ended(tree)) return true;
        if (now < tree.until) return false;
        send_command(tree.control, Command::release);
        return true;
    });
    if (now < next_look_) return;
    next_look_ = now + kBetweenLooks;
    kill_bombs(limits);
}

// The last of its processes has.
bool Lingering::has_ended(Tree& tree) {
    const auto report = read_report(tree.control);
    if (!report) return report.error() == NoReport::ever;
    if (report->kind != Report::Kind::idle) return false;
    idle_ = Spare{.supervisor = tree.supervisor, .control = std::move(tree.control)};
    return true;
}

void Lingering::kill_bombs(const Limits& limits) {
    const auto refused = limits.counts().refused_processes;
    const auto risen = [&](const Tree& tree) { return tree.refused && refused && *refused > *tree.refused; };
    if (!std::ranges::any_of(trees_, risen)) return;
    const auto processes = list_processes();
    std::erase_if(trees_, [&](Tree& tree) {
        if (!risen(tree)) return false;
        tree.refused = refused;
        if (!limits.filled_by(descendants_of(tree.supervisor, processes).size())) return false;
        send_command(tree.control, Command::kill);
        return true;
    });
}

}  // namespace sandbox::guest
