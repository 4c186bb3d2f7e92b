#include "../operations.hpp"

#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "../show.hpp"
#include "commands.hpp"

namespace sandbox::cli {
namespace {

struct OperationsOptions {
    std::string id;
    std::vector<std::string> states;
    std::int64_t limit = 20;
};

std::string table_of(const std::vector<domain::Operation>& operations, bool one_sandbox, Timestamp now, bool colors) {
    std::vector<std::string> header{"ID", "KIND", "STATE", "AGE", "COMMAND"};
    if (!one_sandbox) header.insert(header.begin() + 1, "SANDBOX");
    Table table(header);
    for (const auto& operation : operations) {
        std::vector<Table::Cell> row{operation.id.text(), std::string(to_text(operation.kind)),
                                     state_cell(operation.state),
                                     rough(std::chrono::floor<std::chrono::seconds>(now - operation.created_at)),
                                     operation.argv ? printable_line(shell_words(*operation.argv)) : std::string("-")};
        if (!one_sandbox) row.insert(row.begin() + 1, operation.sandbox_id.text());
        table.add(std::move(row));
    }
    return table.text(colors);
}

/// The newest `limit` of them, however many pages the server makes of it.
Task<client::Answer<std::vector<domain::Operation>>> newest(client::Client& client, client::ListQuery query,
                                                            std::int64_t limit) {
    std::vector<domain::Operation> all;
    do {
        query.limit = std::min<std::int64_t>(limit - static_cast<std::int64_t>(all.size()), 1000);
        auto page = co_await client.operations(query, in(kRequestTime));
        if (!page && page.error().status == 404 && !query.cursor)
            co_return failure("not_found", "this server does not list operations; it is an older one");
        if (!page) co_return pass_on(page);
        std::ranges::move(page->operations, std::back_inserter(all));
        query.cursor = std::move(page->next_cursor);
    } while (query.cursor && static_cast<std::int64_t>(all.size()) < limit);
    co_return all;
}

Task<Outcome> operations(Session& session, OperationsOptions options) {
    auto client = session.client();
    if (!client) co_return pass_on(client);
    client::ListQuery query;
    query.states = options.states;
    if (!options.id.empty()) {
        auto id = co_await resolve_sandbox(**client, options.id);
        if (!id) co_return pass_on(id);
        query.sandbox_id = *id;
    }
    auto listed = co_await newest(**client, query, options.limit);
    if (!listed) co_return pass_on(listed);

    auto& output = session.output();
    if (output.json())
        output.document(*listed);
    else if (output.quiet())
        for (const auto& operation : *listed) output.out(operation.id.text() + "\n");
    else if (listed->empty())
        output.note("there are no such operations");
    else
        output.out(table_of(*listed, query.sandbox_id.has_value(), session.now(), output.colors()));
    co_return kDone;
}

}  // namespace

void add_operations(CommandLine& line) {
    auto options = std::make_shared<OperationsOptions>();
    auto& command = line.add(
        line.root(), "operations", "List operations, newest first, of one sandbox or of all",
        {"sandbox operations", "sandbox operations 9f1c2ab3 --state failed", "sandbox operations --limit 100 --json"});
    command
        .add_option("ID", options->id, "Only this sandbox's: its id, or six or more characters of its beginning or end")
        ->type_name("");
    add_repeated(command, "--state", options->states, "Only those in this state; may be repeated",
                 "pending|running|succeeded|failed")
        .check(CLI::IsMember({"pending", "running", "succeeded", "failed"}).description(""));
    command.add_option("--limit", options->limit, "How many at most")
        ->type_name("N")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{100000}).description(""))
        ->capture_default_str();
    line.on_chosen(command, [options]() -> Action {
        return [options](Session& session) { return operations(session, *options); };
    });
}

}  // namespace sandbox::cli
