#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "../operations.hpp"
#include "commands.hpp"

namespace sandbox::cli {
namespace {

/// The answer may come before the worker has killed it, or be that of an operation that had ended anyway.
std::string outcome(const domain::Operation& operation) {
    if (!domain::has_ended(operation.state)) return "is being cancelled";
    if (operation.error.value_or("").starts_with("cancelled")) return "is cancelled";
    return fmt::format("had already {}", to_text(operation.state));
}

Task<Outcome> cancel(Session& session, std::string given) {
    auto client = session.client();
    if (!client) co_return pass_on(client);
    auto id = co_await resolve_operation(**client, std::move(given));
    if (!id) co_return pass_on(id);
    auto operation = co_await (*client)->cancel(*id, in(kRequestTime));
    if (!operation) co_return pass_on(operation);
    auto& output = session.output();
    if (output.json())
        output.document(*operation);
    else if (output.quiet())
        output.out(operation->id.text() + "\n");
    else
        output.out(fmt::format("{} {} {}\n", to_text(operation->kind), operation->id.text(), outcome(*operation)));
    co_return kDone;
}

}  // namespace

void add_cancel(CommandLine& line) {
    auto id = std::make_shared<std::string>();
    auto& command = line.add(line.root(), "cancel", "Cancel an operation: one that waits its turn, or a running exec",
                             {"sandbox cancel 5be83f06"});
    command.add_option("OPERATION", *id, "The operation's id, or six or more characters of its beginning or end")
        ->type_name("")
        ->required();
    line.on_chosen(command, [id]() -> Action { return [id](Session& session) { return cancel(session, *id); }; });
}

}  // namespace sandbox::cli
