#include "host_status.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

namespace sandbox::runtime {

namespace {

/// The number that follows `name` and blanks in the text.
std::optional<double> number_after(std::string_view text, std::string_view name) {
    auto at = text.find(name);
    if (at == text.npos) return std::nullopt;
    auto digits = text.substr(at + name.size());
    digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
    double value = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || value < 0) return std::nullopt;
    return value;
}

std::string read_file(const char* path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::optional<float> memory_in_use(std::string_view meminfo) {
    auto total = number_after(meminfo, "MemTotal:");
    auto available = number_after(meminfo, "MemAvailable:");
    if (!total || !available || *total <= 0) return std::nullopt;
    return static_cast<float>(std::clamp(1 - *available / *total, 0.0, 1.0));
}

std::optional<float> memory_stall(std::string_view pressure) {
    auto full = pressure.find("full ");
    if (full == pressure.npos) return std::nullopt;
    auto percent = number_after(pressure.substr(full), "avg10=");
    if (!percent) return std::nullopt;
    return static_cast<float>(std::clamp(*percent / 100, 0.0, 1.0));
}

float host_pressure() {
    return std::max(memory_in_use(read_file("/proc/meminfo")).value_or(0),
                    memory_stall(read_file("/proc/pressure/memory")).value_or(0));
}

}  // namespace sandbox::runtime
