#include "key_values.hpp"

#include <charconv>

#include <fmt/format.h>

#include <sandbox/base/text.hpp>

#include "files.hpp"

namespace sandbox::cli {
namespace {

constexpr std::size_t kEnvFileLimit = 1024 * 1024;

}  // namespace

Result<KeyValues> read_key_values(std::string_view option, const std::vector<std::string>& items) {
    KeyValues values;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const auto equals = items[i].find('=');
        if (equals == 0 || equals == std::string::npos)
            return fail(Code::invalid_argument,
                        fmt::format("{} number {} is not of the form KEY=VALUE", option, i + 1));
        if (!is_utf8(items[i]))
            return fail(Code::invalid_argument,
                        fmt::format("{} number {} is not UTF-8, which the API can't carry", option, i + 1));
        values[items[i].substr(0, equals)] = items[i].substr(equals + 1);
    }
    return values;
}

Result<KeyValues> read_env_file(const std::string& path) {
    auto text = read_file_or_pipe(path, kEnvFileLimit);
    if (!text) return fail(std::move(text.error()).in("--env-file"));
    KeyValues values;
    std::size_t number = 0;
    for (std::size_t begin = 0; begin < text->size();) {
        const auto end = std::min(text->find('\n', begin), text->size());
        std::string_view line(text->data() + begin, end - begin);
        begin = end + 1;
        ++number;
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.find_first_not_of(" \t") == std::string_view::npos || line.front() == '#') continue;
        const auto equals = line.find('=');
        if (equals == 0 || equals == std::string_view::npos)
            return fail(Code::invalid_argument,
                        fmt::format("--env-file {}: line {} is not of the form KEY=VALUE", path, number));
        if (!is_utf8(line) || line.find('\0') != std::string_view::npos)
            return fail(Code::invalid_argument, fmt::format("--env-file {}: line {} is not UTF-8 text", path, number));
        values[std::string(line.substr(0, equals))] = line.substr(equals + 1);
    }
    return values;
}

Result<KeyValues> read_environment(const std::vector<std::string>& items, const std::vector<std::string>& files) {
    KeyValues values;
    for (const auto& file : files) {
        auto from_file = read_env_file(file);
        if (!from_file) return from_file;
        for (auto& [key, value] : *from_file) values[key] = std::move(value);
    }
    auto given = read_key_values("--env", items);
    if (!given) return given;
    for (auto& [key, value] : *given) values[key] = std::move(value);
    return values;
}

Result<std::vector<std::string>> checked_argv(const std::vector<std::string>& argv) {
    for (std::size_t i = 0; i < argv.size(); ++i)
        if (!is_utf8(argv[i]))
            return fail(Code::invalid_argument,
                        fmt::format("word {} of the command is not UTF-8, which the API can't carry", i + 1));
    return argv;
}

Result<domain::Exposure> read_exposure(std::string_view text) {
    const auto equals = text.find('=');
    const auto port = text.substr(0, equals);
    domain::Exposure exposure;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), exposure.container_port);
    if (error != std::errc() || end != port.data() + port.size())
        return fail(Code::invalid_argument, fmt::format("--expose {}: the port is not a number", text));
    if (equals != std::string_view::npos) exposure.subdomain = text.substr(equals + 1);
    return exposure;
}

}  // namespace sandbox::cli
