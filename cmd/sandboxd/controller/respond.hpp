#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include <sandbox/base/error.hpp>
#include <sandbox/http/message.hpp>
#include <sandbox/store/store.hpp>

namespace sandbox::sandboxd {

/// An answer with a JSON body.
[[nodiscard]] http::Response json_response(unsigned status, const nlohmann::json& body);
/// The API's form of an error, for this request.
[[nodiscard]] http::Response error_response(const Error& error, const http::Request& request);
[[nodiscard]] http::Response error_response(unsigned status, std::string_view message, const std::string& request_id);

/// A whole number from the query; nullopt when it is not there. Errors: invalid_argument outside min..max.
[[nodiscard]] Result<std::optional<std::int64_t>> query_integer(const http::Request& request, std::string_view name,
                                                                std::int64_t min, std::int64_t max);

/// The place in a listing that `cursor` names, as made by write_cursor(). Errors: invalid_argument.
[[nodiscard]] Result<std::optional<store::Cursor>> query_cursor(const http::Request& request);
[[nodiscard]] std::optional<std::string> write_cursor(const std::optional<store::Cursor>& cursor);

/// The Idempotency-Key header with a digest of method, path and body. Errors: invalid_argument for a bad key.
[[nodiscard]] Result<store::MaybeIdempotency> read_idempotency(const http::Request& request);

/// The id in the path's {name}. Errors: invalid_argument for what is no UUID.
template <class IdType>
[[nodiscard]] Result<IdType> path_id(const http::Request& request, const std::string& name = "id") {
    auto found = request.path_parameters.find(name);
    if (found != request.path_parameters.end()) {
        if (auto id = IdType::parse(found->second)) return *id;
    }
    return fail(Code::invalid_argument,
                "the id in the path must be a UUID such as 0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b");
}

}  // namespace sandbox::sandboxd
