#include "spec.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace sandbox::mcp {

Json network_schema(std::string_view otherwise) {
    return schema::one_of(
        "What it may reach: nothing; what the operator allows, such as a proxy for packages; or the internet and "
        "whatever its host's network leads to, but not the host itself",
        {"deny", "restricted", "open"}, otherwise);
}

Json with_tenant(const Options& options, schema::Properties others, std::size_t required, std::size_t place) {
    if (options.tenant) {
        auto tenant = schema::text("Whose it is; left out, the tenant that this bridge was set up with");
        tenant["default"] = *options.tenant;
        others.emplace_back("tenant", std::move(tenant));
        return schema::object(std::move(others), required);
    }
    others.insert(others.begin() + static_cast<std::ptrdiff_t>(place),
                  {"tenant", schema::text("Whose it is: a team or user name that keeps work apart")});
    return schema::object(std::move(others), required + 1);
}

ToolResult account_of_create(const api::SandboxAndOperation& created, std::size_t max_output,
                             const std::string& operation_name) {
    const auto& [sandbox, operation] = created;
    ToolResult result;
    result.structure["sandbox"] = shown(sandbox);
    result.structure[operation_name] = shown(operation, max_output);
    result.text = describe(sandbox) + ".";
    if (!domain::has_ended(operation.state)) {
        add_note(result, fmt::format("It does not run yet: sandbox_wait with operation_id \"{}\" waits for it. It is "
                                     "there, and counts, until it is deleted or expires.",
                                     operation.id.text()));
    } else if (operation.state == domain::OperationState::failed) {
        make_error(result,
                   fmt::format("The sandbox could not be created: {}. Correct what it names and create another "
                               "one; delete this one with sandbox_delete.",
                               operation.error.value_or(sandbox.failure.value_or("the server gives no reason"))));
    }
    return result;
}

}  // namespace sandbox::mcp
