#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sandbox::http {

/// Header fields in order; names compare without case.
class Headers {
public:
    void add(std::string name, std::string value) { fields_.emplace_back(std::move(name), std::move(value)); }
    /// Replaces every field of that name.
    void set(std::string_view name, std::string value);
    /// The first field of that name; nullptr when there is none.
    [[nodiscard]] const std::string* find(std::string_view name) const noexcept;
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

struct Response {
    unsigned status = 200;
    Headers headers;
    std::string body;
    /// Called on the io thread when the answer could not be written, so that what it carried can be taken back.
    std::function<void()> on_undelivered;
};

}  // namespace sandbox::http
