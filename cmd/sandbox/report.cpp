// What a failure looks like to people and to programs.
#include "report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sandbox/base/json_reader.hpp>

#include "advice.hpp"

namespace sandbox::cli {
namespace {

std::string code_of(const client::Failure& failure) {
    if (!failure.code.empty()) return failure.code;
    return std::string(to_text(failure.error.code()));
}

}  // namespace

std::string message_of(const client::Failure& failure) {
    std::string message = failure.error.message();
    const auto more = advice(failure);
    if (!more.empty()) message += fmt::format(". {}", more);
    return message;
}

std::string goes_on(const Pending& pending) {
    auto text =
        fmt::format("{} goes on without us: follow it with `sandbox wait {}`", pending.what, pending.operation.text());
    if (!pending.cancel.empty()) text += fmt::format(", end it with `{}`", pending.cancel);
    return text;
}

std::string error_text(const std::string& code, const std::string& message, const std::string& request_id, bool json) {
    if (!json) {
        const auto id = request_id.empty() ? "" : fmt::format(" (request {})", request_id);
        return printable(fmt::format("sandbox: {}{}", message, id)) + "\n";
    }
    nlohmann::json error{{"code", code}, {"message", message}, {"request_id", nullptr}};
    if (!request_id.empty()) error["request_id"] = request_id;
    return dump_json(nlohmann::json{{"error", std::move(error)}}) + "\n";
}

void Session::report(const client::Failure& failure) {
    output_.err(error_text(code_of(failure), message_of(failure), failure.request_id, output_.json()));
}

}  // namespace sandbox::cli
