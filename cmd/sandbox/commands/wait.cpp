#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "../operations.hpp"
#include "commands.hpp"

namespace sandbox::cli {
namespace {

struct WaitOptions {
    std::string operation;
    std::int64_t timeout = 300;
};

Task<Outcome> wait(Session& session, WaitOptions options) {
    auto client = session.client();
    if (!client) co_return pass_on(client);
    auto id = co_await resolve_operation(**client, options.operation);
    if (!id) co_return pass_on(id);
    auto operation = co_await (*client)->operation(*id, 0, in(kRequestTime));
    if (!operation) co_return pass_on(operation);
    session.begins(pending_any(*operation));
    const auto limit = std::chrono::seconds(options.timeout);
    const std::string what(to_text(operation->kind));
    auto ended = co_await wait_for(session, **client, std::move(*operation), limit, what);
    if (!ended) co_return pass_on(ended);
    if (domain::has_ended(ended->state)) co_return show_result(session.output(), *ended);
    if (session.output().json()) session.output().document(*ended);
    co_return not_ended(*ended, fmt::format("operation {}", ended->id.text()), limit);
}

}  // namespace

void add_wait(CommandLine& line) {
    auto options = std::make_shared<WaitOptions>();
    auto& command =
        line.add(line.root(), "wait", "Wait for an operation and show what it left, as exec does",
                 {"sandbox wait 5be83f06", "op=$(sandbox exec 9f1c2ab3 --no-wait -- make); sandbox wait $op"});
    command
        .add_option("OPERATION", options->operation,
                    "The operation's id, or six or more characters of its beginning or end")
        ->type_name("")
        ->required();
    command.add_option("--timeout", options->timeout, "Seconds to wait")
        ->type_name("S")
        ->check(CLI::Range(std::int64_t{0}, std::int64_t{604800}).description(""))
        ->capture_default_str();
    line.on_chosen(command,
                   [options]() -> Action { return [options](Session& session) { return wait(session, *options); }; });
}

}  // namespace sandbox::cli
