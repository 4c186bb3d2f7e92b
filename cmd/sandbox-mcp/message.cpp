#include "message.hpp"

#include <array>

#include <sandbox/base/json_reader.hpp>

namespace sandbox::mcp {
namespace {

/// A tool says itself which of its arguments does not fit; its standard input is bytes, and may.
constexpr std::array<std::string_view, 1> kMayHoldNul{"params.arguments.*"};

bool is_id(const nlohmann::json& value) {
    return value.is_string() || value.is_number_integer();
}

/// Reads nothing but what says whose a message is and what it stops, out of JSON that the strict reader does not take
/// (too deep, a key twice, NUL). Keeps no other value, so that depth and size cost nothing.
class Outline final : public nlohmann::json_sax<nlohmann::json> {
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
        at_ = nullptr;
        if (depth_ == 1 && in_object_) {
            in_params_ = name == "params";
            if (name == "id") at_ = &id_;
            if (name == "method") at_ = &method_;
            is_answer_ = is_answer_ || name == "result" || name == "error";
        } else if (depth_ == 2 && in_params_ && params_is_object_) {
            if (name == "requestId") at_ = &request_id_;
        }
        if (at_ != nullptr) ++at_->times;
        return true;
    }
    bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override { return false; }

    /// Null when there is none that can be read, or more than one.
    [[nodiscard]] nlohmann::json id() const { return id_.value(); }
    [[nodiscard]] nlohmann::json method() const { return method_.value(); }
    /// params.requestId
    [[nodiscard]] nlohmann::json request_id() const { return request_id_.value(); }
    [[nodiscard]] bool is_notification() const { return id_.times == 0 && method_.times > 0; }
    [[nodiscard]] bool is_answer() const { return is_answer_ && method_.times == 0; }

private:
    struct Member {
        int times = 0;
        nlohmann::json last;
        [[nodiscard]] nlohmann::json value() const { return times == 1 ? last : nlohmann::json(); }
    };

    template <class T>
    bool found(const T& value) {
        if (at_ != nullptr) at_->last = value;
        at_ = nullptr;
        return true;
    }
    bool other() {
        at_ = nullptr;
        return true;
    }
    bool open(bool object) {
        at_ = nullptr;
        ++depth_;
        if (depth_ == 1) in_object_ = object;
        if (depth_ == 2) params_is_object_ = object;
        return true;
    }
    bool close() {
        --depth_;
        return true;
    }

    std::size_t depth_ = 0;
    bool in_object_ = false;
    bool in_params_ = false;
    bool params_is_object_ = false;
    bool is_answer_ = false;
    Member* at_ = nullptr;  // whose value comes next
    Member id_;
    Member method_;
    Member request_id_;
};

Message refused(int code, std::string message, nlohmann::json id = nullptr) {
    return {.kind = Message::Kind::refused,
            .id = std::move(id),
            .method = "",
            .params = nullptr,
            .error = {.code = code, .message = std::move(message), .data = nullptr}};
}

/// What the strict reader did not take: no JSON at all, or JSON that no request of ours may be. A notification is never
/// answered, and what it stops is stopped whatever else is in it.
Message not_taken(std::string_view line, const Error& problem) {
    Outline outline;
    if (!nlohmann::json::sax_parse(line, &outline)) return refused(kParseError, problem.message());
    if (outline.is_answer()) return {};
    if (!outline.is_notification()) return refused(kInvalidRequest, problem.message(), outline.id());
    const auto method = outline.method();
    if (!method.is_string() || outline.request_id().is_null()) return {};
    return {.kind = Message::Kind::notification,
            .id = nullptr,
            .method = method.get<std::string>(),
            .params = {{"requestId", outline.request_id()}},
            .error = {}};
}

bool holds_nul(const std::string& text) {
    return text.find('\0') != std::string::npos;
}
bool holds_nul(const nlohmann::json& value) {
    if (value.is_string()) return holds_nul(value.get_ref<const std::string&>());
    if (value.is_object())
        for (const auto& [name, member] : value.items())
            if (holds_nul(name) || holds_nul(member)) return true;
    if (value.is_array())
        for (const auto& element : value)
            if (holds_nul(element)) return true;
    return false;
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

    auto method = json->find("method");
    if (json->value("jsonrpc", nlohmann::json()) != "2.0") {
        if (!has_id && method != json->end()) return {};  // a notification, which is never answered
        return refused(kInvalidRequest, "jsonrpc must be \"2.0\"", known_id);
    }
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
    if (has_id && message.method != "tools/call" && holds_nul(message.params))
        return refused(kInvalidRequest, "params must not contain NUL", known_id);
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
