#include "journal.hpp"

#include <algorithm>

namespace sandbox::bench {

namespace {

std::optional<std::size_t> number_of(const domain::Assignment& assignment) {
    const auto* create = std::get_if<domain::CreateWork>(&assignment.kind);
    if (create == nullptr) return std::nullopt;
    const auto found = create->spec.env.find(Journal::kNumber);
    if (found == create->spec.env.end()) return std::nullopt;
    return std::stoul(found->second);
}

}  // namespace

double Latencies::quantile(double q) const {
    if (values_.empty()) return 0;
    auto sorted = values_;
    const auto at = std::min(sorted.size() - 1, static_cast<std::size_t>(q * static_cast<double>(sorted.size())));
    std::ranges::nth_element(sorted, sorted.begin() + static_cast<std::ptrdiff_t>(at));
    return sorted[at];
}

std::size_t Journal::begin(Steady::time_point due, std::size_t controller, bool counted) {
    creates_.push_back(
        {.due = due, .controller = controller, .counted = counted, .answered = std::nullopt, .running = std::nullopt});
    return creates_.size() - 1;
}

void Journal::answered(std::size_t number, domain::SandboxId id) {
    creates_[number].answered = Steady::now();
    creates_[number].id = id;
}

void Journal::leased(const domain::Assignment& assignment, Timestamp asked, std::size_t controller) {
    const auto number = number_of(assignment);
    // What lay there already was not waited for.
    if (!number || !creates_[*number].counted || asked > assignment.created_at) return;
    auto& latencies = creates_[*number].controller == controller ? assigned_here : assigned_elsewhere;
    latencies.add(wall_time() - assignment.created_at);
}

void Journal::completed(const domain::Assignment& assignment) {
    if (std::holds_alternative<domain::DeleteWork>(assignment.kind)) {
        ++deleted_;
        deleting.notify_all();
    }
    const auto number = number_of(assignment);
    if (!number) return;
    auto& create = creates_[*number];
    create.running = Steady::now();
    if (create.waiter != nullptr) create.waiter->notify_all();
}

Task<bool> Journal::until_running(std::size_t number, Deadline deadline) {
    auto& create = creates_[number];  // stays where it is while others are added
    if (create.running) co_return true;
    async::Signal ran;
    create.waiter = &ran;
    co_await ran.wait(deadline);
    create.waiter = nullptr;
    co_return create.running.has_value();
}

void Journal::failed(const std::string& what, const client::Failure& failure) {
    const auto code = failure.code.empty() ? std::string(to_text(failure.error.code())) : failure.code;
    failed(what, std::to_string(failure.status) + " " + code);
}

Journal::Creates Journal::counted(Steady::time_point until) const {
    Creates all;
    for (const auto& create : creates_) {
        if (!create.counted || !create.answered) continue;
        all.answer.add(*create.answered - create.due);
        if (!create.running) continue;
        all.running.add(*create.running - create.due);
        if (std::max(*create.answered, *create.running) <= until) ++all.done;
    }
    return all;
}

std::vector<std::pair<domain::SandboxId, std::size_t>> Journal::running() const {
    std::vector<std::pair<domain::SandboxId, std::size_t>> all;
    for (const auto& create : creates_)
        if (create.answered && create.running) all.emplace_back(create.id, create.controller);
    return all;
}

}  // namespace sandbox::bench
