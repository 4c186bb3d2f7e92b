#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <sandbox/client/client.hpp>
#include <sandbox/http/client.hpp>

namespace sandbox::client {

/// One server and the credentials for it: what both clients make their requests with. Lives on the io thread.
class Caller {
public:
    Caller(asio::any_io_executor executor, Settings settings, std::size_t response_limit_bytes);

    struct Call {
        std::string method = "GET";
        std::string target;  // path and query, encoded
        std::string body = {};
        std::string idempotency_key = {};  // "" for none
    };
    /// The body of a 2xx answer; anything else is a Failure.
    Task<Answer<std::string>> send(Call call, Deadline deadline);
    /// A GET whose 2xx answer's body comes in pieces, until the server ends it or `on_data` returns false; gives its
    /// head. It has no deadline: cancel it.
    Task<Answer<http::Response>> stream(Call call, std::function<bool(std::string_view)> on_data);

private:
    [[nodiscard]] Answer<http::Request> request_of(Call call, std::string accept) const;

    Settings settings_;
    http::Client http_;
};

/// Asking again later may help: nobody answered, or the server says that it can't right now.
[[nodiscard]] bool is_passing(const Failure& failure);

/// The path with its query, when there is one.
[[nodiscard]] std::string with_query(std::string path, const http::Query& query);
/// The query of a call that may wait; seconds are brought into 0..60, and 0 is left out.
void add_wait(http::Query& query, int wait_seconds);

/// Reads an answer's body; what can't be read is the server's fault (Code::unavailable), since the request was taken.
template <class Reader>
[[nodiscard]] auto read_answer(Answer<std::string> body, Reader reader)
    -> Answer<typename std::invoke_result_t<Reader, std::string_view>::value_type> {
    if (!body) return std::unexpected(std::move(body.error()));
    auto value = reader(std::string_view(*body));
    if (value) return std::move(*value);
    Error error(Code::unavailable, value.error().message());
    return std::unexpected(Failure{.error = std::move(error).in("the server's answer could not be understood"),
                                   .code = "",
                                   .request_id = "",
                                   .status = 200});
}

}  // namespace sandbox::client
