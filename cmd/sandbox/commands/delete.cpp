#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "../operations.hpp"
#include "../text.hpp"
#include "commands.hpp"

namespace sandbox::cli {
namespace {

using namespace std::chrono_literals;

/// A dead node is given up after 300 s, and its sandboxes are then deleted at once.
constexpr auto kDeleteTime = 600s;

struct DeleteOptions {
    std::vector<std::string> ids;
    bool no_wait = false;
    bool wait = true;  // what it does anyway; older scripts ask for it
};

Task<client::Answer<domain::Operation>> request_delete(Session& session, client::Client& client, std::string given) {
    auto id = co_await resolve_sandbox(client, std::move(given));
    if (!id) co_return pass_on(id);
    auto request = client.destroy(*id, 0, in(kRequestTime));
    co_return co_await start<client::Answer<domain::Operation>>(session, std::move(request), pending_delete);
}

Task<client::Answer<domain::Operation>> finish_delete(Session& session, client::Client& client,
                                                      domain::Operation operation) {
    const auto what = "deleting sandbox " + operation.sandbox_id.text();
    auto ended = co_await wait_for(session, client, std::move(operation), kDeleteTime, what);
    if (ended && !domain::has_ended(ended->state)) co_return not_ended(*ended, what, kDeleteTime);
    co_return ended;
}

void show_deleted(Output& output, const std::vector<domain::Operation>& operations, bool several) {
    if (output.json()) {
        if (several)
            output.document(operations);
        else if (!operations.empty())
            output.document(operations.front());
        return;
    }
    for (const auto& operation : operations) output.out(operation.sandbox_id.text() + "\n");
}

/// All are asked for first, so that they go side by side; what fails stops nothing else.
Task<Outcome> destroy(Session& session, DeleteOptions options) {
    auto client = session.client();
    if (!client) co_return pass_on(client);
    std::vector<client::Failure> failures;
    std::vector<domain::Operation> operations;
    for (const auto& given : options.ids) {
        auto operation = co_await request_delete(session, **client, given);
        if (operation)
            operations.push_back(std::move(*operation));
        else
            failures.push_back(std::move(operation.error()));
    }
    if (!options.no_wait) {
        for (auto& operation : operations) {
            auto ended = co_await finish_delete(session, **client, operation);
            if (!ended) {
                failures.push_back(std::move(ended.error()));
                continue;
            }
            operation = std::move(*ended);
            if (operation.state == domain::OperationState::failed)
                failures.push_back(operation_failed(operation).error());
        }
    }
    const bool several = options.ids.size() > 1;
    show_deleted(session.output(), operations, several);
    if (failures.empty()) co_return kDone;
    for (std::size_t i = 0; i + 1 < failures.size(); ++i) session.report(failures[i]);
    if (operations.empty()) co_return std::unexpected(std::move(failures.back()));
    // Something was deleted, so this is no longer a matter of usage, whatever was wrong with another id.
    session.report(failures.back());
    co_return kFailed;
}

}  // namespace

void add_delete(CommandLine& line) {
    auto options = std::make_shared<DeleteOptions>();
    auto& command = line.add(line.root(), "delete", "Delete sandboxes and wait until they are gone",
                             {"sandbox delete 9f1c2ab3", "sandbox delete 9f1c2ab3 77d0e1 --no-wait"});
    command.add_option("ID", options->ids, "The sandboxes' ids, or six or more characters of their beginnings or ends")
        ->type_name("")
        ->required();
    auto* no_wait =
        command.add_flag("--no-wait", options->no_wait, "Return as soon as the server has taken the request");
    command.add_flag("--wait", options->wait, "Wait until they are gone, as it does anyway")->excludes(no_wait);
    line.on_chosen(
        command, [options]() -> Action { return [options](Session& session) { return destroy(session, *options); }; });
}

}  // namespace sandbox::cli
