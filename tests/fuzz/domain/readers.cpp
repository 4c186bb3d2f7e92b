// What peers of any version may send: reports of workers, and what a controller hands out. Whatever it was, reading
// ends; and what was read without a problem is written in a form that reads back as the same.
#include <array>
#include <string_view>

#include <nlohmann/json.hpp>

#include <sandbox/base/json_reader.hpp>
#include <sandbox/domain/assignment.hpp>
#include <sandbox/domain/node.hpp>
#include <sandbox/domain/operation.hpp>
#include <sandbox/domain/sandbox.hpp>
#include <sandbox/domain/validation.hpp>

using namespace sandbox;

namespace {

/// Where the API lets bytes of a process stand.
constexpr std::array<std::string_view, 5> kBytes{"output.stdout", "output.stderr", "startup.tail", "command.stdin",
                                                 "error"};

template <class Read>
void read_and_write(const nlohmann::json& json, Read read) {
    Problems problems;
    const nlohmann::json first = read(json, "", problems);
    if (!problems.empty()) {
        if (problems.to_error().message().empty()) __builtin_trap();
        return;
    }
    const auto parsed = parse_json(dump_json(first), kBytes);
    if (!parsed) __builtin_trap();
    const nlohmann::json second = read(*parsed, "", problems);
    if (!problems.empty() || first != second) __builtin_trap();
}

/// An operator's request: read strictly, then held to the rules.
void read_and_validate(const nlohmann::json& json) {
    Problems problems;
    const auto spec = domain::read_spec(json, "spec", problems, UnknownFields::refuse);
    domain::validate(spec, "spec", {}, problems);
    const auto command = domain::read_command(json, "command", problems, UnknownFields::refuse);
    domain::validate(command, "command", problems);
    (void)problems.to_error();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto json = parse_json({reinterpret_cast<const char*>(data), size}, kBytes);
    if (!json) return 0;
    read_and_write(*json, domain::read_assignment);
    read_and_write(*json, domain::read_completion);
    read_and_write(*json, domain::read_heartbeat);
    read_and_write(*json, domain::read_node);
    read_and_write(*json, domain::read_operation);
    read_and_write(*json, domain::read_sandbox);
    read_and_validate(*json);
    return 0;
}
