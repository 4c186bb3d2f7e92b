#pragma once

#include <string>
#include <utility>
#include <vector>

namespace sandbox::api {

/// The OpenAPI 3.1 document of the API, as JSON text; made once.
[[nodiscard]] const std::string& openapi_document();

/// Every (method, path) of the document, such as {"POST", "/v1/sandboxes/{id}/exec"}. The controller's router is
/// checked against it at start, so that neither can have what the other lacks.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> openapi_operations();

}  // namespace sandbox::api
