// A runtime driver for Sandbox on plain runc: docs/runtime-driver.md is the contract, README.md says what this one
// gives.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <nlohmann/json.hpp>

#include <sandbox/base/json_reader.hpp>

#include "runc.hpp"
#include "sandbox.hpp"

namespace sandbox::driver_runc {
namespace {

using nlohmann::json;

constexpr std::string_view kProtocol = "sandbox.runtime.v1";
constexpr std::int64_t kUsualOutputBytes = 1024 * 1024;
constexpr std::int64_t kMostOutputBytes = 64 * 1024 * 1024;

struct Request {
    domain::SandboxId id;
    json payload;
};

Result<Request> read_request() {
    const std::string text(std::istreambuf_iterator<char>(std::cin), {});
    auto document = parse_json(text);
    if (!document) return fail(std::move(document.error()).in("the request"));
    Problems problems;
    ObjectReader reader(*document, "", problems, UnknownFields::ignore);
    if (reader.string("protocol_version") != kProtocol)
        reader.problem("protocol_version", "must be sandbox.runtime.v1");
    const auto id = domain::SandboxId::parse(reader.string("sandbox_id"));
    if (!id) reader.problem("sandbox_id", "must be a UUID");
    const auto* payload = reader.field("payload");
    if (!problems.empty()) return fail(problems.to_error().in("the request"));
    return Request{*id, payload == nullptr ? json::object() : *payload};
}

Result<json> answer_probe(const Settings& settings) {
    auto version = runc_version(settings);
    if (!version) return fail(std::move(version.error()));
    return json{{"name", "runc"}, {"version", *version}, {"tiers", {"container"}}, {"concurrent_exec", false}};
}

Task<Result<json>> answer_create(const Settings& settings, const Request& request) {
    Problems problems;
    ObjectReader reader(request.payload, "payload", problems, UnknownFields::ignore);
    const auto tier = reader.enumeration<domain::Tier>("isolation", domain::kTierNames, std::nullopt);
    const auto* field = reader.required_field("spec");
    domain::SandboxSpec spec;
    if (field != nullptr) spec = domain::read_spec(*field, "payload.spec", problems, UnknownFields::ignore);
    if (!problems.empty()) co_return fail(problems.to_error());
    if (tier != domain::Tier::container) co_return fail(Code::invalid_argument, "this driver gives containers only");
    auto made = co_await create(settings, request.id, std::move(spec));
    if (!made) co_return fail(std::move(made.error()));
    co_return json::object();
}

Task<Result<json>> answer_exec(const Settings& settings, const Request& request) {
    Problems problems;
    ExecRequest wanted;
    wanted.command = domain::read_command(request.payload, "payload", problems, UnknownFields::ignore);
    ObjectReader reader(request.payload, "payload", problems, UnknownFields::ignore);
    const auto operation = reader.optional_string("operation_id");
    wanted.operation = domain::OperationId::parse(operation.value_or("")).value_or(domain::OperationId{});
    wanted.max_output_bytes = static_cast<std::size_t>(
        reader.optional_integer("max_output_bytes", 1, kMostOutputBytes).value_or(kUsualOutputBytes));
    if (!problems.empty()) co_return fail(problems.to_error());
    co_return co_await exec(settings, request.id, std::move(wanted));
}

Result<json> answer_cancel(const Settings& settings, const Request& request) {
    Problems problems;
    ObjectReader reader(request.payload, "payload", problems, UnknownFields::ignore);
    const auto operation = domain::OperationId::parse(reader.string("operation_id"));
    if (!operation) return fail(Code::invalid_argument, "payload.operation_id must be a UUID");
    auto told = cancel(settings, request.id, *operation);
    if (!told) return fail(std::move(told.error()));
    return json::object();
}

Result<json> answer_list(const Settings& settings) {
    auto ids = list(settings);
    if (!ids) return fail(std::move(ids.error()));
    json names = json::array();
    for (const auto& id : *ids) names.push_back(id.text());
    return json{{"sandboxes", std::move(names)}};
}

Task<Result<json>> act(std::string action) {
    const auto request = read_request();
    if (!request) co_return fail(request.error());
    const auto settings = find_settings();
    if (!settings) co_return fail(settings.error());
    if (action == "probe") co_return answer_probe(*settings);
    if (action == "create") co_return co_await answer_create(*settings, *request);
    if (action == "exec") co_return co_await answer_exec(*settings, *request);
    if (action == "cancel") co_return answer_cancel(*settings, *request);
    if (action == "list") co_return answer_list(*settings);
    if (action == "delete") {
        auto removed = remove(*settings, request->id);
        if (!removed) co_return fail(std::move(removed.error()));
        co_return json::object();
    }
    co_return fail(Code::invalid_argument, "this driver does not know the action " + action);
}

void print(const std::string& text) {
    std::string_view rest = text;
    while (!rest.empty()) {
        const auto count = ::write(STDOUT_FILENO, rest.data(), rest.size());
        if (count <= 0) return;  // nobody wants it any more
        rest.remove_prefix(static_cast<std::size_t>(count));
    }
}

}  // namespace
}  // namespace sandbox::driver_runc

int main(int argc, char** argv) {
    using namespace sandbox;
    if (argc != 2) {
        (void)std::fputs(
            "usage: sandbox-driver-runc ACTION    (a request on standard input; see docs/runtime-driver.md)\n", stderr);
        return 2;
    }
    (void)std::signal(SIGPIPE, SIG_IGN);
    asio::io_context io(1);
    std::optional<Result<nlohmann::json>> end;
    asio::co_spawn(io, driver_runc::act(argv[1]),
                   [&](const std::exception_ptr& failure, Result<nlohmann::json> result) {
                       if (failure) std::rethrow_exception(failure);
                       end = std::move(result);
                       io.stop();
                   });
    try {
        io.run();
    } catch (const std::exception& error) {
        end = fail(Code::internal, error.what());
    }
    const bool success = end && end->has_value();
    nlohmann::json answer{{"success", success}, {"result", nullptr}, {"error", nullptr}};
    if (success)
        answer["result"] = std::move(**end);
    else
        answer["error"] = end ? end->error().message() : "the driver did not come to an end";
    driver_runc::print(dump_json(answer) + "\n");
    // Without taking down what the guest's end of the streams still waits for.
    std::_Exit(0);
}
