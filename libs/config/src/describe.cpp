#include <spdlog/fmt/fmt.h>

#include "key.hpp"

namespace sandbox::config {
namespace {

/// The line of one key: secrets and keys without a value are comments, so that the text can be read back.
std::string line_of(const Key& key, const Config& config) {
    static const Config defaults;
    const auto name = key.path.substr(key.path.rfind('.') + 1);
    const auto value = key.write(config);
    if (value.empty()) return fmt::format("#{} is not set", name);
    if (key.secret && value != key.write(defaults)) return fmt::format("#{} = \"********\"", name);
    return fmt::format("{} = {}", name, value);
}

}  // namespace

std::string describe(const Config& config) {
    auto text = fmt::format("# role: {}{}\n", domain::name_in(kRoleNames, config.role), config.dev ? " (--dev)" : "");
    std::string_view section;
    for (const auto& key : all_keys()) {
        const auto of_key = key.path.substr(0, key.path.find('.'));
        if (of_key != section) {
            section = of_key;
            text += fmt::format("\n[{}]\n", section);
        }
        text += fmt::format("{}  # {}\n", line_of(key, config), key.meaning);
    }
    return text;
}

}  // namespace sandbox::config
