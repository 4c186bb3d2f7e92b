#include <cstdint>

#include <nlohmann/json.hpp>

#include <sandbox/api/messages.hpp>
#include <sandbox/base/json_reader.hpp>
#include <sandbox/base/text.hpp>

namespace {

using namespace sandbox;

/// A refusal is one bounded piece of UTF-8.
template <class T>
bool accepted(const Result<T>& result) {
    if (result) return true;
    const auto& message = result.error().message();
    if (result.error().code() != Code::invalid_argument || message.empty() || message.size() > 64 * 1024 ||
        !is_utf8(message))
        __builtin_trap();
    return false;
}

void operators(std::string_view body) {
    const domain::SpecLimits limits;
    if (auto spec = api::read_create_request(body, limits); accepted(spec)) {
        auto again = api::read_create_request(api::create_request(*spec), limits);
        if (!again || *again != *spec) __builtin_trap();
    }
    if (auto command = api::read_exec_request(body); accepted(command)) {
        auto again = api::read_exec_request(api::exec_request(*command));
        if (!again || *again != *command) __builtin_trap();
    }
    if (auto exposure = api::read_exposure_request(body); accepted(exposure)) {
        auto again = api::read_exposure_request(dump_json(*exposure));
        if (!again || *again != *exposure) __builtin_trap();
    }
    accepted(api::read_extend_request(body, 86400));
    accepted(api::read_drain_request(body));
    accepted(api::read_empty_request(body));
}

void workers(std::string_view body) {
    if (auto node = api::read_register_request(body); accepted(node)) {
        auto again = api::read_register_request(api::register_request(*node));
        if (!again || nlohmann::json(*again) != nlohmann::json(*node)) __builtin_trap();
    }
    if (auto heartbeat = api::read_heartbeat_request(body); accepted(heartbeat)) {
        auto again = api::read_heartbeat_request(dump_json(*heartbeat));
        if (!again || nlohmann::json(*again) != nlohmann::json(*heartbeat)) __builtin_trap();
    }
    if (auto completion = api::read_complete_request(body); accepted(completion)) {
        auto again = api::read_complete_request(dump_json(*completion));
        if (!again || nlohmann::json(*again) != nlohmann::json(*completion)) __builtin_trap();
    }
    if (auto ids = api::read_release_request(body); accepted(ids)) {
        auto again = api::read_release_request(api::release_request(*ids));
        if (!again || *again != *ids) __builtin_trap();
    }
}

}  // namespace

// Whatever a request's reader accepts, it reads the same again from what its writer makes of it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view body(reinterpret_cast<const char*>(data), size);
    operators(body);
    workers(body);
    return 0;
}
