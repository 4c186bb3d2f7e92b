#include "../arguments.hpp"
#include "../schema.hpp"
#include "../tools.hpp"

namespace sandbox::mcp {
namespace {

Task<ToolResult> create(Bridge& /*bridge*/, Call& /*call*/, nlohmann::json arguments) {
    Arguments given(arguments);
    (void)given.id<domain::SandboxId>("sandbox_id");
    (void)given.integer("container_port", 1, 65535);
    (void)given.optional_string("subdomain");
    (void)given.boolean_or("wait", true);
    if (auto ended = given.end(); !ended) co_return bad_arguments(ended.error());
    co_return refusal(
        "Public tunnels are not available in this version of Sandbox. Reach the program from inside instead: "
        "sandbox_exec with argv [\"sh\", \"-c\", \"wget -qO- http://127.0.0.1:PORT/\"] shows what it answers. Tell the "
        "user that it can't be opened from outside.");
}

Task<ToolResult> remove(Bridge& /*bridge*/, Call& /*call*/, nlohmann::json arguments) {
    Arguments given(arguments);
    (void)given.id<domain::SandboxId>("sandbox_id");
    (void)given.id<domain::TunnelId>("tunnel_id");
    (void)given.boolean_or("wait", true);
    if (auto ended = given.end(); !ended) co_return bad_arguments(ended.error());
    co_return refusal(
        "Public tunnels are not available in this version of Sandbox, so there is none to delete. Deleting the sandbox "
        "with sandbox_delete ends all that it serves.");
}

Json create_input(const Options& /*options*/) {
    using namespace schema;
    return object({{"sandbox_id", id("The sandbox's id")},
                   {"container_port", number("The port that the program in the sandbox listens on", 1, 65535)},
                   {"subdomain", text("A name for its address; without one it gets a generated name")},
                   {"wait", boolean("Wait until it can be reached", true)}},
                  2);
}

Json delete_input(const Options& /*options*/) {
    using namespace schema;
    return object({{"sandbox_id", id("The sandbox's id")},
                   {"tunnel_id", id("The tunnel's id, as sandbox_inspect shows it")},
                   {"wait", boolean("Wait until it is gone", true)}},
                  2);
}

Json output() {
    return schema::output({{"tunnel", schema::tunnel()}, {"operation", schema::operation()}});
}

}  // namespace

Tool tunnel_create_tool() {
    return {
        .name = "sandbox_tunnel_create",
        .title = "Publish a port",
        .description =
            "Publishes one HTTP port of a sandbox on the internet, without authentication. Only when the user asked "
            "for it. Not available in this version: it answers what to do instead.",
        .hints = {.open_world = true},
        .input = create_input,
        .output = output,
        .run = create};
}

Tool tunnel_delete_tool() {
    return {.name = "sandbox_tunnel_delete",
            .title = "Take a port off the internet",
            .description = "Removes a published port. Not available in this version: it answers what to do instead.",
            .hints = {.destructive = true},
            .input = delete_input,
            .output = output,
            .run = remove};
}

}  // namespace sandbox::mcp
