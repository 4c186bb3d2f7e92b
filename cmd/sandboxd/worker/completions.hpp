#pragma once

#include <string>

#include <sandbox/domain/assignment.hpp>
#include <sandbox/runtime/runtime.hpp>

/// What is reported of a piece of work, by how it went. The controller takes the sandbox's state only as far as its own
/// state machine allows.
namespace sandbox::sandboxd {

[[nodiscard]] domain::Completion succeeded(const domain::Assignment& assignment);
[[nodiscard]] domain::Completion failed(const domain::Assignment& assignment, std::string error);
/// Ended before its turn, or killed: a command then has exit code 137 and no output.
[[nodiscard]] domain::Completion cancelled(const domain::Assignment& assignment);
/// A command that began and whose result is not known here: exit code 137 and no output.
[[nodiscard]] domain::Completion interrupted(const domain::Assignment& assignment);
/// Of a command that ran: exit code 0 is success. `was_cancelled` counts only when the kill came before its own end.
[[nodiscard]] domain::Completion of_exec(const domain::Assignment& assignment, runtime::ExecResult result,
                                         bool was_cancelled);

}  // namespace sandbox::sandboxd
