#include <fstream>
#include <iterator>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sandbox/api/openapi.hpp>
#include <sandbox/base/json_reader.hpp>

namespace sandbox::api {
namespace {

const std::string& page() {
    static const std::string text = [] {
        std::ifstream file(SANDBOX_SOURCE_DIR "/docs/api.md");
        return std::string(std::istreambuf_iterator<char>(file), {});
    }();
    return text;
}

bool names(std::string_view what) {
    return page().find(what) != std::string::npos;
}

// What people read and what programs read tell of the same endpoints and fields.
TEST(Documentation, names_every_endpoint) {
    for (const auto& [method, path] : openapi_operations()) EXPECT_TRUE(names("`" + method + " " + path)) << path;
}

TEST(Documentation, names_every_field_of_every_shape) {
    auto document = parse_json(openapi_document()).value();
    for (const auto& [schema, value] : document["components"]["schemas"].items())
        if (value.contains("properties"))
            for (const auto& [field, type] : value["properties"].items())
                EXPECT_TRUE(names(field)) << schema << "." << field;
}

TEST(Documentation, names_every_spelling_and_every_error_code) {
    auto document = parse_json(openapi_document()).value();
    for (const auto& [schema, value] : document["components"]["schemas"].items())
        for (const auto& spelling : value.value("enum", nlohmann::json::array()))
            if (schema != "AssignmentState" && schema != "TunnelState" && schema != "Protocol")
                EXPECT_TRUE(names("`" + spelling.get<std::string>() + "`")) << schema << " " << spelling;
    for (auto code : {"invalid_request", "unauthorized", "not_found", "method_not_allowed", "request_timeout",
                      "conflict", "payload_too_large", "rate_limited", "internal", "unavailable", "no_capacity"})
        EXPECT_TRUE(names("| `" + std::string(code) + "` |")) << code;
}

}  // namespace
}  // namespace sandbox::api
