#pragma once

#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace sandbox::test {

/// An answer as a test looks at it.
struct Reply {
    unsigned status = 0;
    std::map<std::string, std::string> headers;  // names in lower case
    std::string body;
    /// The body as JSON; discarded (is_discarded()) when it is none.
    [[nodiscard]] nlohmann::json json() const { return nlohmann::json::parse(body, nullptr, false); }
};

/// One request to a server on loopback, on a connection of its own. Throws when no answer comes within a minute.
Reply call(const std::string& address, const std::string& method, const std::string& target, std::string body = {},
           const std::map<std::string, std::string>& headers = {});

/// Sends these very bytes and gives all that comes back until the server closes, or two seconds pass.
std::string send_raw(const std::string& address, std::string_view bytes);

}  // namespace sandbox::test
