#include <nlohmann/json.hpp>

#include <sandbox/base/json_reader.hpp>
#include <sandbox/client/refusal.hpp>

namespace sandbox::client {

bool asked_for_too_much(const Failure& failure) {
    if (failure.code != "no_capacity") return false;
    const auto details = parse_json(failure.error.details());
    if (!details || !details->is_object()) return false;
    const auto rejected = details->value("rejected", nlohmann::json());
    return rejected.is_object() && (rejected.contains("resources") || rejected.contains("reserve"));
}

}  // namespace sandbox::client
