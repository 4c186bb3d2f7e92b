#include "caller.hpp"

#include <algorithm>

#include <sandbox/api/error.hpp>

namespace sandbox::client {
namespace {

/// What a header field may carry without ending it or being changed on the way.
bool fits_header(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

Failure unanswered(Error error) {
    return {.error = std::move(error), .code = "", .request_id = "", .status = 0};
}

Failure from_response(const http::Response& response) {
    auto received = api::from_answer(response.status, response.body);
    Failure failure{.error = std::move(received.error),
                    .code = std::move(received.code),
                    .request_id = std::move(received.request_id),
                    .status = response.status};
    if (failure.request_id.empty())
        if (const auto* id = response.headers.find("X-Request-Id")) failure.request_id = *id;
    return failure;
}

}  // namespace

Caller::Caller(asio::any_io_executor executor, Settings settings, std::size_t response_limit_bytes)
    : settings_(std::move(settings)),
      http_(std::move(executor), http::ClientSettings{.server = settings_.server,
                                                      .ca_file = settings_.ca_file,
                                                      .response_limit_bytes = response_limit_bytes}) {}

Answer<http::Request> Caller::request_of(Call call, std::string accept) const {
    http::Request request;
    request.method = std::move(call.method);
    request.target = std::move(call.target);
    request.body = std::move(call.body);
    request.headers.add("Accept", std::move(accept));
    if (request.method == "POST") request.headers.add("Content-Type", "application/json");
    if (!call.idempotency_key.empty()) request.headers.add("Idempotency-Key", std::move(call.idempotency_key));
    if (!settings_.token.empty()) {
        if (!fits_header(settings_.token.reveal()))
            return std::unexpected(
                Failure{.error = Error(Code::invalid_argument,
                                       "the token holds white space or other characters that no header can carry"),
                        .code = "",
                        .request_id = "",
                        .status = 0});
        request.headers.add("Authorization", "Bearer " + settings_.token.reveal());
    }

    return request;
}

Task<Answer<std::string>> Caller::send(Call call, Deadline deadline) {
    auto request = request_of(std::move(call), "application/json");
    if (!request) co_return std::unexpected(std::move(request.error()));
    auto response = co_await http_.send(std::move(*request), deadline);
    if (!response) co_return std::unexpected(unanswered(std::move(response.error())));
    if (response->status < 200 || response->status > 299) co_return std::unexpected(from_response(*response));
    co_return std::move(response->body);
}

Task<Answer<http::Response>> Caller::stream(Call call, std::function<bool(std::string_view)> on_data) {
    auto request = request_of(std::move(call), "text/event-stream");
    if (!request) co_return std::unexpected(std::move(request.error()));
    auto response = co_await http_.stream(std::move(*request), std::move(on_data), Deadline::max());
    if (!response) co_return std::unexpected(unanswered(std::move(response.error())));
    if (response->status < 200 || response->status > 299) co_return std::unexpected(from_response(*response));
    co_return std::move(*response);
}

bool is_passing(const Failure& failure) {
    if (failure.status == 0)
        return failure.error.code() == Code::unavailable || failure.error.code() == Code::deadline_exceeded;
    return failure.status == 429 || (failure.status >= 502 && failure.status <= 504);
}

std::string with_query(std::string path, const http::Query& query) {
    if (!query.empty()) path += "?" + http::encode_query(query);
    return path;
}

void add_wait(http::Query& query, int wait_seconds) {
    if (wait_seconds > 0) query.emplace_back("wait_seconds", std::to_string(std::min(wait_seconds, 60)));
}

}  // namespace sandbox::client
