#include "message.hpp"

#include <array>
#include <optional>

#include <sandbox/base/json_reader.hpp>

namespace sandbox::mcp {
namespace {

/// Standard input is bytes: it alone may hold NUL.
constexpr std::array<std::string_view, 1> kMayHoldNul{"params.arguments.stdin"};

bool is_id(const nlohmann::json& value) {
    return value.is_string() || value.is_number_integer();
}

/// Reads nothing but the id of the outermost object, out of JSON that the strict reader does not take (too deep, a key
/// twice, NUL). Keeps no other value, so that depth and size cost nothing.
class IdFinder final : public nlohmann::json_sax<nlohmann::json> {
public:
    bool null() override { return other(); }
    bool boolean(bool) override { return other(); }
    bool number_integer(number_integer_t value) override { return found(value); }
    bool number_unsigned(number_unsigned_t value) override { return found(value); }
    bool number_float(number_float_t, const string_t&) override { return other(); }
    bool string(string_t& value) override { return found(value); }
    bool binary(binary_t&) override { return false; }
    bool start_object(std::size_t) override { return open(true); }
    bool end_object() override { return close(); }
    bool start_array(std::size_t) override { return open(false); }
    bool end_array() override { return close(); }
    bool key(string_t& name) override {
        if (depth_ != 1 || !in_object_) return true;
        at_id_ = name == "id";
        if (at_id_ && ++times_ > 1) id_.reset();
        return true;
    }
    bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override { return false; }

    [[nodiscard]] nlohmann::json id() const { return id_ && times_ == 1 ? *id_ : nlohmann::json(); }

private:
    template <class T>
    bool found(const T& value) {
        if (depth_ == 1 && at_id_) id_ = value;
        return true;
    }
    static bool other() { return true; }
    bool open(bool object) {
        if (depth_++ == 0) in_object_ = object;
        return true;
    }
    bool close() {
        --depth_;
        return true;
    }

    std::size_t depth_ = 0;
    bool in_object_ = false;
    bool at_id_ = false;
    int times_ = 0;
    std::optional<nlohmann::json> id_;
};

Message refused(int code, std::string message, nlohmann::json id = nullptr) {
    return {.kind = Message::Kind::refused,
            .id = std::move(id),
            .method = "",
            .params = nullptr,
            .error = {.code = code, .message = std::move(message), .data = nullptr}};
}

/// What the strict reader did not take: no JSON at all, or JSON that no request of ours may be.
Message not_taken(std::string_view line, const Error& problem) {
    IdFinder finder;
    if (!nlohmann::json::sax_parse(line, &finder)) return refused(kParseError, problem.message());
    return refused(kInvalidRequest, problem.message(), finder.id());
}

}  // namespace

Message read_message(std::string_view line) {
    auto json = parse_json(line, kMayHoldNul);
    if (!json) return not_taken(line, json.error());
    if (json->is_array()) return refused(kInvalidRequest, "batches are not taken: send one message a line");
    if (!json->is_object()) return refused(kInvalidRequest, "a message is a JSON object");

    auto id = json->find("id");
    const bool has_id = id != json->end();
    if (has_id && !is_id(*id)) return refused(kInvalidRequest, "an id is a string or an integer of at most 64 bits");
    const nlohmann::json known_id = has_id ? *id : nlohmann::json();

    if (json->value("jsonrpc", nlohmann::json()) != "2.0")
        return refused(kInvalidRequest, "jsonrpc must be \"2.0\"", known_id);
    auto method = json->find("method");
    if (method == json->end()) {
        if (json->contains("result") || json->contains("error")) return {};
        return refused(kInvalidRequest, "a method is missing", known_id);
    }
    if (!method->is_string()) return refused(kInvalidRequest, "a method is a string", known_id);

    Message message{.kind = has_id ? Message::Kind::request : Message::Kind::notification,
                    .id = known_id,
                    .method = method->get<std::string>(),
                    .params = nlohmann::json::object(),
                    .error = {}};
    if (auto params = json->find("params"); params != json->end() && !params->is_null())
        message.params = std::move(*params);
    return message;
}

std::string to_line(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string error_line(const nlohmann::json& id, const RpcError& error) {
    Json body{{"code", error.code}, {"message", error.message}};
    if (!error.data.is_null()) body["data"] = error.data;
    Json answer{{"jsonrpc", "2.0"}};
    if (!id.is_null()) answer["id"] = id;
    answer["error"] = std::move(body);
    return to_line(answer);
}

std::string result_line(const nlohmann::json& id, const Json& result) {
    return to_line(Json{{"jsonrpc", "2.0"}, {"id", id}, {"result", result}});
}

}  // namespace sandbox::mcp
