#include "arguments.hpp"

#include <cmath>
#include <cstdint>

namespace sandbox::mcp {

void make_integers(nlohmann::json& value) {
    constexpr double kExact = 9007199254740992.0;  // 2^53
    if (value.is_structured()) {
        for (auto& element : value) make_integers(element);
    } else if (value.is_number_float()) {
        const auto number = value.get<double>();
        if (std::trunc(number) == number && std::abs(number) <= kExact) value = static_cast<std::int64_t>(number);
    }
}

}  // namespace sandbox::mcp
