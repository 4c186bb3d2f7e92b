#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "id_match.hpp"
#include "operations.hpp"

namespace sandbox::cli {
namespace {

constexpr std::int64_t kPage = 1000;
/// Shortened operation ids are looked for among this many pages of the newest.
constexpr int kOperationPages = 10;

client::Answer<std::string> match(const std::string& given, const std::vector<std::string>& ids,
                                  std::string_view what) {
    auto id = match_id(given, ids, what);
    if (id) return std::move(*id);
    if (id.error().code() == Code::not_found) return failure("not_found", id.error().message());
    return usage(id.error().message());
}

std::unexpected<client::Failure> no_id(const std::string& given, std::string_view what) {
    return usage(fmt::format("{} is no {} id: give the whole id, or {} or more characters of its beginning or end",
                             given, what, kShortestId));
}

/// A server that has no such list answers 404 to it.
std::unexpected<client::Failure> explain(client::Failure failed, std::string_view what) {
    if (failed.status != 404) return std::unexpected(std::move(failed));
    return failure(
        "not_found",
        fmt::format("this server can't list {}s, so a shortened id can't be looked up; give the whole id", what));
}

}  // namespace

Task<client::Answer<std::vector<domain::Sandbox>>> all_sandboxes(client::Client& client, client::ListQuery query) {
    std::vector<domain::Sandbox> all;
    query.limit = kPage;
    do {
        auto page = co_await client.sandboxes(query, in(kRequestTime));
        if (!page) co_return pass_on(page);
        std::ranges::move(page->sandboxes, std::back_inserter(all));
        query.cursor = std::move(page->next_cursor);
    } while (query.cursor);
    co_return all;
}

Task<client::Answer<domain::SandboxId>> resolve_sandbox(client::Client& client, std::string given) {
    if (const auto whole = domain::SandboxId::parse(given)) co_return *whole;
    if (!may_be_short_id(given)) co_return no_id(given, "sandbox");
    auto sandboxes = co_await all_sandboxes(client, {});
    if (!sandboxes) co_return pass_on(sandboxes);
    std::vector<std::string> ids;
    for (const auto& sandbox : *sandboxes) ids.push_back(sandbox.id.text());
    auto id = match(given, ids, "sandbox");
    if (!id) co_return pass_on(id);
    co_return *domain::SandboxId::parse(*id);
}

Task<client::Answer<domain::OperationId>> resolve_operation(client::Client& client, std::string given) {
    if (const auto whole = domain::OperationId::parse(given)) co_return *whole;
    if (!may_be_short_id(given)) co_return no_id(given, "operation");
    std::vector<std::string> ids;
    client::ListQuery query;
    query.limit = kPage;
    for (int page = 0; page < kOperationPages; ++page) {
        auto operations = co_await client.operations(query, in(kRequestTime));
        if (!operations) co_return explain(std::move(operations.error()), "operation");
        for (const auto& operation : operations->operations) ids.push_back(operation.id.text());
        if (!operations->next_cursor) break;
        query.cursor = std::move(operations->next_cursor);
    }
    auto id = match(given, ids, "operation");
    if (!id) co_return pass_on(id);
    co_return *domain::OperationId::parse(*id);
}

Task<client::Answer<domain::NodeId>> resolve_node(client::Client& client, std::string given) {
    if (const auto whole = domain::NodeId::parse(given)) co_return *whole;
    if (!may_be_short_id(given)) co_return no_id(given, "node");
    auto nodes = co_await client.nodes(in(kRequestTime));
    if (!nodes) co_return explain(std::move(nodes.error()), "node");
    std::vector<std::string> ids;
    for (const auto& node : *nodes) ids.push_back(node.id.text());
    auto id = match(given, ids, "node");
    if (!id) co_return pass_on(id);
    co_return *domain::NodeId::parse(*id);
}

}  // namespace sandbox::cli
