#include "show.hpp"

#include <algorithm>

namespace sandbox::cli {

Table::Cell state_cell(domain::SandboxState state) {
    using enum domain::SandboxState;
    const auto color = state == running   ? Color::green
                       : state == failed  ? Color::red
                       : state == stopped ? Color::dim
                                          : Color::yellow;
    return {std::string(to_text(state)), color};
}

Table::Cell state_cell(domain::OperationState state) {
    using enum domain::OperationState;
    const auto color = state == succeeded ? Color::green : state == failed ? Color::red : Color::yellow;
    return {std::string(to_text(state)), color};
}

bool is_silent(const domain::Node& node, Timestamp now) {
    return std::chrono::floor<std::chrono::seconds>(now - node.last_seen) > kSilence;
}

void Properties::add(std::string name, std::string value) {
    lines_.emplace_back(std::move(name), std::move(value));
}

std::string Properties::text() const {
    std::size_t widest = 0;
    for (const auto& [name, value] : lines_) widest = std::max(widest, width(name));
    std::string text;
    for (const auto& [name, value] : lines_)
        text += name + ":" + std::string(widest - width(name) + 2, ' ') + value + "\n";
    return text;
}

}  // namespace sandbox::cli
