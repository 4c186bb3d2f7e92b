#include "settings.hpp"

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sandbox/base/json_reader.hpp>

#include "files.hpp"

namespace sandbox::cli {
namespace {

constexpr std::size_t kSettingsLimit = 64 * 1024;
constexpr std::string_view kBuiltInServer = "http://127.0.0.1:8080";

Result<ChosenServer> chosen(std::string_view text, ServerSource source, std::string_view where) {
    auto url = parse_server(text);
    if (!url) return fail(std::move(url.error()).in(where));
    return ChosenServer{.url = std::move(*url), .source = source};
}

}  // namespace

Environment process_environment() {
    return [](const char* name) -> std::optional<std::string> {
        const char* value = std::getenv(name);
        if (value == nullptr || *value == '\0') return std::nullopt;
        return std::string(value);
    };
}

Result<http::Url> parse_server(std::string_view text) {
    // Before the parser looks, which takes more kinds of addresses and says so.
    if (!text.starts_with("http://") && !text.starts_with("https://"))
        return fail(Code::invalid_argument, "a server's address begins with http:// or https://");
    auto url = http::Url::parse(text);
    if (!url && url.error().message().find("unix:///") != std::string::npos)
        return fail(Code::invalid_argument, "not a usable URL: write it as http://host:port or https://host:port");
    return url;
}

Result<std::string> settings_path(const Environment& environment) {
    if (auto path = environment("SANDBOX_CONFIG")) {
        if (!std::filesystem::path(*path).is_absolute())
            return fail(Code::invalid_argument, "SANDBOX_CONFIG must be an absolute path");
        return *path;
    }
    if (auto folder = environment("XDG_CONFIG_HOME"); folder && std::filesystem::path(*folder).is_absolute())
        return *folder + "/sandbox/config.json";
    if (auto home = environment("HOME")) return *home + "/.config/sandbox/config.json";
    return fail(Code::invalid_argument,
                "can't tell where settings are saved: neither SANDBOX_CONFIG, XDG_CONFIG_HOME "
                "nor HOME is set");
}

Result<std::optional<std::string>> saved_server(const std::string& path) {
    auto text = read_file(path, kSettingsLimit);
    if (!text && text.error().code() == Code::not_found) return std::nullopt;
    if (!text) return fail(std::move(text.error()));
    auto json = parse_json(*text);
    if (!json)
        return fail(Code::invalid_argument,
                    fmt::format("{} does not hold this command's settings: {}", path, json.error().message()));
    Problems problems;
    ObjectReader reader(*json, "", problems, UnknownFields::refuse);
    auto server = reader.optional_string("server");
    reader.finish();
    if (!problems.empty())
        return fail(Code::invalid_argument,
                    fmt::format("{} does not hold this command's settings: {}", path, problems.to_error().message()));
    return server;
}

Result<void> save_server(const std::string& path, const std::string& server) {
    if (auto present = saved_server(path); !present)
        return fail(Code::invalid_argument,
                    fmt::format("{}; it is left as it is. Remove it, or name another place with SANDBOX_CONFIG",
                                present.error().message()));
    return replace_file(path, dump_json_pretty(nlohmann::json{{"server", server}}) + "\n");
}

Result<ChosenServer> choose_server(const std::optional<std::string>& option, const Environment& environment) {
    if (option) return chosen(*option, ServerSource::option, "--server");
    if (auto variable = environment("SANDBOX_URL")) return chosen(*variable, ServerSource::variable, "SANDBOX_URL");
    if (auto path = settings_path(environment)) {
        auto saved = saved_server(*path);
        if (!saved)
            return fail(Code::invalid_argument,
                        fmt::format("{}. Give --server or SANDBOX_URL, or remove it and save a server anew with "
                                    "`sandbox config set-server URL`",
                                    saved.error().message()));
        if (*saved) return chosen(**saved, ServerSource::saved, *path);
    } else if (environment("SANDBOX_CONFIG")) {
        return fail(std::move(path.error()));
    }
    return chosen(kBuiltInServer, ServerSource::built_in, "built-in server");
}

}  // namespace sandbox::cli
