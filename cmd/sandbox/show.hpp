#pragma once

#include <string>

#include <sandbox/domain/node.hpp>
#include <sandbox/domain/operation.hpp>
#include <sandbox/domain/sandbox.hpp>

#include "text.hpp"

namespace sandbox::cli {

[[nodiscard]] Table::Cell state_cell(domain::SandboxState state);
[[nodiscard]] Table::Cell state_cell(domain::OperationState state);

/// How long a worker may be silent before we call it so: the default of server.heartbeat_timeout_seconds, in whole
/// seconds as placement counts. The API does not tell what a server has it set to.
inline constexpr std::chrono::seconds kSilence{45};
[[nodiscard]] bool is_silent(const domain::Node& node, Timestamp now);

/// Lines of "Name:  value" with the values in one column.
class Properties {
public:
    void add(std::string name, std::string value);
    [[nodiscard]] std::string text() const;

private:
    std::vector<std::pair<std::string, std::string>> lines_;
};

}  // namespace sandbox::cli
