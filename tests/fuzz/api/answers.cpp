#include <cstdint>

#include <nlohmann/json.hpp>

#include <sandbox/api/error.hpp>
#include <sandbox/api/messages.hpp>
#include <sandbox/base/json_reader.hpp>
#include <sandbox/base/text.hpp>

namespace {

using namespace sandbox;

template <class T>
void read(std::string_view body, Result<T> (*reader)(std::string_view)) {
    auto value = reader(body);
    if (!value) return;
    auto again = reader(dump_json(*value));
    if (!again || nlohmann::json(*again) != nlohmann::json(*value)) __builtin_trap();
}

/// One line that a terminal shows as it is.
bool is_clean(std::string_view text) {
    for (char c : text)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
    return is_utf8(text);
}

}  // namespace

// A server may be an older one, a proxy, or hostile: a client reads its answers whole or not at all, and its errors
// become one clean line.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view body(reinterpret_cast<const char*>(data), size);
    read(body, api::read_health);
    read(body, api::read_sandbox_and_operation);
    read(body, api::read_sandbox_answer);
    read(body, api::read_sandbox_list);
    read(body, api::read_operation_list);
    read(body, api::read_node_answer);
    read(body, api::read_register_answer);
    read(body, api::read_heartbeat_answer);
    read(body, api::read_lease_answer);
    read(body, api::read_event_list);
    read(body, api::read_logged_event);
    (void)api::read_operation_answer(body);
    (void)api::read_node_list(body);
    for (unsigned status : {301U, 404U, 503U}) {
        auto received = api::from_answer(status, body);
        const auto& message = received.error.message();
        if (message.empty() || message.size() > 8192 || !is_clean(message) || !is_clean(received.request_id))
            __builtin_trap();
    }
    return 0;
}
