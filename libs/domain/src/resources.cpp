#include "resources.hpp"

#include <nlohmann/json.hpp>

namespace sandbox::domain {

Resources& Resources::operator+=(const Resources& other) {
    cpu_millis += other.cpu_millis;
    memory_mib += other.memory_mib;
    disk_mib += other.disk_mib;
    pids += other.pids;
    return *this;
}

Resources& Resources::operator-=(const Resources& other) {
    cpu_millis -= other.cpu_millis;
    memory_mib -= other.memory_mib;
    disk_mib -= other.disk_mib;
    pids -= other.pids;
    return *this;
}

Resources operator+(Resources left, const Resources& right) {
    return left += right;
}

Resources operator-(Resources left, const Resources& right) {
    return left -= right;
}

Resources least(const Resources& left, const Resources& right) {
    return {std::min(left.cpu_millis, right.cpu_millis), std::min(left.memory_mib, right.memory_mib),
            std::min(left.disk_mib, right.disk_mib), std::min(left.pids, right.pids)};
}

void to_json(nlohmann::json& json, const Resources& value) {
    json = {{"cpu_millis", value.cpu_millis},
            {"memory_mib", value.memory_mib},
            {"disk_mib", value.disk_mib},
            {"pids", value.pids}};
}

Resources read_resources(const nlohmann::json& json, const std::string& path, Problems& problems, UnknownFields unknown,
                         const Resources& floors) {
    ObjectReader reader(json, path, problems, unknown);
    Resources value;
    value.cpu_millis = reader.integer("cpu_millis", floors.cpu_millis, kMostOfAResource);
    value.memory_mib = reader.integer("memory_mib", floors.memory_mib, kMostOfAResource);
    value.disk_mib = reader.integer("disk_mib", floors.disk_mib, kMostOfAResource);
    value.pids = reader.integer("pids", floors.pids, kMostOfAResource);
    reader.finish();
    return value;
}

Resources read_resources(const nlohmann::json& json, const std::string& path, Problems& problems,
                         UnknownFields unknown) {
    return read_resources(json, path, problems, unknown, Resources{0, 0, 0, 0});
}

}  // namespace sandbox::domain
