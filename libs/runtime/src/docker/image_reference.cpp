#include "docker/image_reference.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sandbox/base/json_reader.hpp>
#include <sandbox/base/text.hpp>

#include "docker/engine_answers.hpp"

namespace sandbox::runtime::docker {

namespace {

constexpr std::string_view kHub = "docker.io";
constexpr std::string_view kHubConfigKey = "https://index.docker.io/v1/";

bool contains_any(std::string_view text, std::span<const std::string_view> parts) {
    return std::ranges::any_of(parts, [text](std::string_view part) { return text.find(part) != text.npos; });
}

std::string lower(std::string_view text) {
    std::string result(text);
    for (char& c : result)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return result;
}

/// The part of a key like "https://ghcr.io/v1/" that names the registry.
std::string_view registry_of_key(std::string_view key) {
    for (std::string_view scheme : {"https://", "http://"})
        if (key.starts_with(scheme)) key.remove_prefix(scheme.size());
    return key.substr(0, key.find('/'));
}

/// URL-safe base64, as the engine wants this header.
std::string base64_url(std::string_view bytes) {
    auto text = base64_encode(bytes);
    std::ranges::replace(text, '+', '-');
    std::ranges::replace(text, '/', '_');
    return text;
}

Secret header_for(const nlohmann::json& entry, std::string_view registry) {
    if (!entry.is_object()) return {};
    auto text = [&entry](const char* name) {
        auto found = entry.find(name);
        return found != entry.end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    nlohmann::json login = {{"serveraddress", registry == kHub ? kHubConfigKey : registry}};
    if (auto token = text("identitytoken"); !token.empty()) {
        login["identitytoken"] = token;
    } else {
        auto pair = base64_decode(text("auth"));
        auto colon = pair ? pair->find(':') : std::string::npos;
        if (colon == std::string::npos) return {};
        login["username"] = pair->substr(0, colon);
        login["password"] = pair->substr(colon + 1);
    }
    return Secret(base64_url(dump_json(login)));
}

}  // namespace

ImageReference ImageReference::parse(std::string_view text) {
    ImageReference image;
    auto name = text;
    if (auto at = name.find('@'); at != name.npos) {
        image.tag = name.substr(at + 1);
        name = name.substr(0, at);
    }
    auto last_slash = name.rfind('/');
    auto colon = name.rfind(':');
    if (colon != name.npos && (last_slash == name.npos || colon > last_slash)) {
        // A digest beside a tag decides alone, as the engine has it too.
        if (image.tag.empty()) image.tag = name.substr(colon + 1);
        name = name.substr(0, colon);
    }
    if (image.tag.empty()) image.tag = "latest";
    image.repository = name;
    auto first = name.substr(0, name.find('/'));
    bool names_registry =
        first.size() < name.size() && (first.find_first_of(".:") != first.npos || first == "localhost");
    image.registry = names_registry ? first : kHub;
    return image;
}

Secret registry_credentials(std::string_view config_json, std::string_view registry) {
    auto config = parse_json(config_json);
    if (!config || !config->is_object()) return {};
    auto auths = config->find("auths");
    if (auths == config->end() || !auths->is_object()) return {};
    for (const auto& [key, entry] : auths->items()) {
        auto named = registry_of_key(key);
        bool hub = registry == kHub && (named == "index.docker.io" || named == kHub);
        if (!hub && named != registry) continue;
        if (auto header = header_for(entry, registry); !header.empty()) return header;
    }
    return {};
}

Secret read_client_config() {
    std::string directory;
    if (const char* configured = std::getenv("DOCKER_CONFIG")) {
        directory = configured;
    } else if (const char* home = std::getenv("HOME")) {
        directory = std::string(home) + "/.docker";
    }
    std::ifstream file(directory + "/config.json", std::ios::binary);
    if (directory.empty() || !file) return {};
    return Secret(std::string(std::istreambuf_iterator<char>(file), {}));
}

Error pull_error(const ImageReference& image, std::string_view image_name, const Error& cause) {
    static constexpr std::array<std::string_view, 5> kRefused{"unauthorized", "authentication required", "denied",
                                                              "no basic auth credentials", "incorrect username"};
    static constexpr std::array<std::string_view, 4> kMissing{"manifest unknown", "not found", "name unknown",
                                                              "no such image"};
    static constexpr std::array<std::string_view, 9> kUnreachable{
        "dial tcp",         "no such host", "timeout", "connection refused", "connection reset",
        "no route to host", "unreachable",  "eof",     "request canceled"};
    auto shown = shortened(image_name, 200);
    if (cause.code() == Code::deadline_exceeded)
        return {Code::deadline_exceeded,
                fmt::format("pulling image {} from {} took longer than it may", shown, image.registry)};
    if (cause.code() == Code::cancelled) return {Code::cancelled, fmt::format("pulling image {} was cancelled", shown)};
    auto text = lower(cause.message());
    if (contains_any(text, kRefused))
        return {Code::permission_denied,
                fmt::format("registry {} refuses to give image {}: log in with an account that may read it ({})",
                            image.registry, shown, cause.message())};
    if (contains_any(text, kUnreachable))
        return {Code::unavailable,
                fmt::format("registry {} can't be reached for image {} ({})", image.registry, shown, cause.message())};
    if (cause.code() == Code::not_found || contains_any(text, kMissing))
        return {Code::not_found, fmt::format("image {} does not exist in registry {}", shown, image.registry)};
    return Error(cause).in(fmt::format("image {}", shown));
}

}  // namespace sandbox::runtime::docker
