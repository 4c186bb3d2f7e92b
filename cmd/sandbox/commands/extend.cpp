#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "../operations.hpp"
#include "../text.hpp"
#include "commands.hpp"

namespace sandbox::cli {
namespace {

struct ExtendOptions {
    std::string id;
    std::int64_t ttl = 0;
};

Task<Outcome> extend(Session& session, ExtendOptions options) {
    auto client = session.client();
    if (!client) co_return pass_on(client);
    auto id = co_await resolve_sandbox(**client, options.id);
    if (!id) co_return pass_on(id);
    auto sandbox = co_await (*client)->extend(*id, options.ttl, in(kRequestTime));
    if (!sandbox) co_return pass_on(sandbox);
    auto& output = session.output();
    if (output.json())
        output.document(*sandbox);
    else if (output.quiet())
        output.out(sandbox->id.text() + "\n");
    else
        output.out(fmt::format("{} expires {}, at {}\n", sandbox->id.text(),
                               from_now(sandbox->expires_at, session.now()), format_time(sandbox->expires_at)));
    co_return kDone;
}

}  // namespace

void add_extend(CommandLine& line) {
    auto options = std::make_shared<ExtendOptions>();
    auto& command = line.add(line.root(), "extend", "Let a sandbox live longer: at least so many seconds from now",
                             {"sandbox extend 9f1c2ab3 --ttl 7200"});
    command.add_option("ID", options->id, "The sandbox's id, or six or more characters of its beginning or end")
        ->type_name("")
        ->required();
    command.add_option("--ttl", options->ttl, "Seconds from now; an expiry that is later stays")
        ->type_name("S")
        ->required();
    line.on_chosen(command,
                   [options]() -> Action { return [options](Session& session) { return extend(session, *options); }; });
}

}  // namespace sandbox::cli
