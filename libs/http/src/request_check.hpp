#pragma once

#include <optional>
#include <string>

#include <sandbox/http/message.hpp>

namespace sandbox::http {

/// Looks for what makes a request ambiguous or unusable (two framings, several hosts, a bad target), and fills `path`
/// and `query`. An absolute target becomes its origin form and decides Host. The sentence for a 400 when something is
/// wrong.
[[nodiscard]] std::optional<std::string> check_request(Request& request, bool http_1_0);

}  // namespace sandbox::http
