#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sandbox/async/task.hpp>
#include <sandbox/base/error.hpp>
#include <sandbox/http/stream.hpp>

namespace sandbox::http {

/// Header fields in order; names compare without case.
class Headers {
public:
    void add(std::string name, std::string value) { fields_.emplace_back(std::move(name), std::move(value)); }
    /// Replaces every field of that name.
    void set(std::string_view name, std::string value);
    void remove(std::string_view name);
    /// The first field of that name; nullptr when there is none.
    [[nodiscard]] const std::string* find(std::string_view name) const noexcept;
    /// Whether a comma-separated list field of that name holds the token, without case: ("Connection", "upgrade").
    [[nodiscard]] bool has_token(std::string_view name, std::string_view token) const noexcept;
    [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& all() const noexcept { return fields_; }

private:
    std::vector<std::pair<std::string, std::string>> fields_;
};

/// Query parameters, percent-decoded, in order; a name may come more than once.
using Query = std::vector<std::pair<std::string, std::string>>;

/// A request on the server's side, or one to send.
struct Request {
    std::string method = "GET";
    std::string target = "/";  // origin form as received: path and query, still encoded
    std::string path;          // decoded path (server side)
    Query query;               // (server side)
    Headers headers;
    std::string body;
    std::string remote_address;                          // the peer's IP (server side)
    std::string request_id;                              // (server side) the client's own where sane, else made here
    std::map<std::string, std::string> path_parameters;  // from the route's {names}

    [[nodiscard]] const std::string* query_value(std::string_view name) const noexcept;
};

/// Where a response's body goes, piece by piece.
class BodyWriter {
public:
    virtual ~BodyWriter() = default;
    /// Returns when the peer's side has room again, so a slow reader slows the writer. Errors: unavailable (lost),
    /// deadline_exceeded (not taken within the server's write_timeout), cancelled.
    virtual Task<Result<void>> write(std::string_view bytes) = 0;
};

struct Response {
    unsigned status = 200;
    Headers headers;
    std::string body;
    /// Called on the io thread when the answer could not be written, so that what it carried can be taken back.
    std::function<void()> on_undelivered;

    /// When set, it writes the body instead, each piece sent at once; `body` is not looked at. The head goes out first.
    /// Cancelled like a handler when the client goes away. An exception from it cuts the connection.
    std::function<Task<void>(BodyWriter&)> stream;

    /// With status 101: called once the head is written; what it is given is the raw connection, no longer the
    /// server's (stop() does not wait for it). When the head can't be written, on_undelivered is called instead.
    std::function<void(std::unique_ptr<Stream>)> on_upgrade;
};

}  // namespace sandbox::http
