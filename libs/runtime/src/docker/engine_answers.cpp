#include "docker/engine_answers.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sandbox/base/json_reader.hpp>
#include <sandbox/base/text.hpp>

namespace sandbox::runtime::docker {

namespace {

using nlohmann::json;

using ApiVersion = std::pair<int, int>;
constexpr ApiVersion kOldestApi{1, 40};
/// The newest version whose documentation this client was written by.
constexpr ApiVersion kNewestApi{1, 44};

std::optional<ApiVersion> parse_api_version(std::string_view text) {
    ApiVersion version;
    auto dot = text.find('.');
    if (dot == std::string_view::npos) return std::nullopt;
    auto number = [](std::string_view digits, int& into) {
        auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), into);
        return error == std::errc{} && end == digits.data() + digits.size() && into >= 0;
    };
    if (!number(text.substr(0, dot), version.first) || !number(text.substr(dot + 1), version.second))
        return std::nullopt;
    return version;
}

/// Reads one JSON object with `read` and turns everything that is wrong into one error.
template <class Read>
auto read_object(std::string_view body, Read read) -> Result<decltype(read(std::declval<ObjectReader&>()))> {
    auto document = parse_json(body);
    if (!document) return fail(Error(Code::unavailable, document.error().message()).in("the engine's answer"));
    Problems problems;
    ObjectReader reader(*document, "", problems, UnknownFields::ignore);
    auto value = read(reader);
    if (!problems.empty())
        return fail(Error(Code::unavailable, one_line(problems.to_error().message())).in("the engine's answer"));
    return value;
}

/// The same for each object of an array.
template <class Read>
auto read_array(const json& array, Read read) -> Result<std::vector<decltype(read(std::declval<ObjectReader&>()))>> {
    std::vector<decltype(read(std::declval<ObjectReader&>()))> values;
    if (array.is_null()) return values;
    if (!array.is_array()) return fail(Code::unavailable, "the engine's answer: must be an array");
    Problems problems;
    for (std::size_t i = 0; i < array.size(); ++i) {
        ObjectReader reader(array[i], fmt::format("[{}]", i), problems, UnknownFields::ignore);
        values.push_back(read(reader));
        if (!problems.empty())
            return fail(Error(Code::unavailable, one_line(problems.to_error().message())).in("the engine's answer"));
    }
    return values;
}

template <class Read>
auto read_array_text(std::string_view body, Read read) {
    auto document = parse_json(body);
    using Values = decltype(read_array(*document, read));
    if (!document) return Values(fail(Error(Code::unavailable, document.error().message()).in("the engine's answer")));
    return read_array(*document, read);
}

Volume read_volume_object(ObjectReader& reader) {
    Volume volume;
    volume.name = reader.string("Name");
    volume.mountpoint = reader.optional_string("Mountpoint").value_or("");
    volume.labels = reader.string_map("Labels");
    volume.options = reader.string_map("Options");
    return volume;
}

/// What holds an object's keys as values: {"/data": {}}.
std::vector<std::string> keys_of(const json* object) {
    std::vector<std::string> keys;
    if (object != nullptr && object->is_object())
        for (const auto& item : object->items()) keys.push_back(item.key());
    return keys;
}

std::string read_gateway(ObjectReader& network) {
    const auto* ipam = network.field("IPAM");
    if (ipam == nullptr) return "";
    ObjectReader reader(*ipam, network.path_of("IPAM"), network.problems(), UnknownFields::ignore);
    for (const auto& element : reader.array("Config")) {
        ObjectReader config(element.value, element.path, network.problems(), UnknownFields::ignore);
        if (auto gateway = config.optional_string("Gateway")) return *gateway;
    }
    return "";
}

}  // namespace

std::string Container::label(std::string_view name_of_label) const {
    auto found = labels.find(std::string(name_of_label));
    return found == labels.end() ? "" : found->second;
}

std::string one_line(std::string_view text) {
    constexpr std::size_t kLongest = 300;
    std::string line = to_utf8(text.substr(0, 4 * kLongest));
    std::ranges::replace_if(
        line, [](char byte) { return static_cast<unsigned char>(byte) < 0x20U || byte == 0x7F; }, ' ');
    auto end = line.find_last_not_of(' ');
    line.resize(end == std::string::npos ? 0 : end + 1);
    return shortened(line, kLongest);
}

Error error_of(const http::Response& response, std::string_view what) {
    auto code = Code::unavailable;
    switch (response.status) {
        case 400:
            code = Code::invalid_argument;
            break;
        case 401:
        case 403:
            code = Code::permission_denied;
            break;
        case 404:
            code = Code::not_found;
            break;
        case 409:
            code = Code::conflict;
            break;
        default:
            break;
    }
    auto message = read_object(response.body, [](ObjectReader& reader) { return reader.string("message"); });
    auto text = one_line(message ? *message : response.body);
    if (text.empty()) text = fmt::format("the engine answered with status {}", response.status);
    return Error(code, std::move(text)).in(what);
}

Result<EngineVersion> read_version(std::string_view body) {
    std::string newest;
    std::string oldest;
    auto version = read_object(body, [&](ObjectReader& reader) {
        EngineVersion read;
        read.version = one_line(reader.string("Version"));
        newest = reader.string("ApiVersion");
        oldest = reader.optional_string("MinAPIVersion").value_or("1.0");
        for (const auto& element : reader.array("Components")) {
            ObjectReader component(element.value, element.path, reader.problems(), UnknownFields::ignore);
            auto name = component.optional_string("Name").value_or("");
            if (name.ends_with("Engine") && read.name.empty()) read.name = one_line(name);
        }
        return read;
    });
    if (!version) return version;
    auto most = parse_api_version(newest);
    auto least = parse_api_version(oldest);
    if (!most || !least)
        return fail(Code::unavailable, "the engine names no API version: " + one_line(newest + " " + oldest));
    if (*most < kOldestApi)
        return fail(Code::unavailable,
                    fmt::format("the engine {} speaks API {} and older; 1.40 (Docker 19.03) is needed",
                                version->version, one_line(newest)));
    auto spoken = std::max(std::min(*most, kNewestApi), *least);
    version->api = fmt::format("{}.{}", spoken.first, spoken.second);
    return version;
}

Result<EngineInfo> read_info(std::string_view body) {
    return read_object(body, [](ObjectReader& reader) {
        EngineInfo info;
        info.cpus = reader.optional_integer("NCPU", 0, 1'000'000).value_or(0);
        info.kernel = reader.optional_string("KernelVersion").value_or("");
        info.runtimes = keys_of(reader.field("Runtimes"));
        for (const auto& option : reader.strings("SecurityOptions"))
            if (option.find("rootless") != std::string::npos) info.rootless = true;
        return info;
    });
}

Result<std::string> read_id(std::string_view body) {
    auto id = read_object(body, [](ObjectReader& reader) { return reader.string("Id"); });
    constexpr std::size_t kLongestId = 128;
    if (id &&
        (id->empty() || id->size() > kLongestId || id->find_first_not_of("0123456789abcdef") != std::string::npos))
        return fail(Code::unavailable, "the engine's answer: not an id: " + one_line(*id));
    return id;
}

Result<Container> read_container(std::string_view body) {
    return read_object(body, [](ObjectReader& reader) {
        Container container;
        container.id = reader.string("Id");
        container.name = reader.optional_string("Name").value_or("");
        if (container.name.starts_with('/')) container.name.erase(0, 1);
        if (const auto* config = reader.field("Config")) {
            ObjectReader inner(*config, "Config", reader.problems(), UnknownFields::ignore);
            container.labels = inner.string_map("Labels");
        }
        static const json kEmpty = json::object();
        const auto* state = reader.field("State");
        ObjectReader inner(state != nullptr ? *state : kEmpty, "State", reader.problems(), UnknownFields::ignore);
        container.state = inner.string("Status");
        container.exit_code =
            inner.optional_integer("ExitCode", std::numeric_limits<int>::min(), std::numeric_limits<int>::max())
                .value_or(0);
        container.oom_killed = inner.boolean_or("OOMKilled", false);
        container.error = one_line(inner.optional_string("Error").value_or(""));
        return container;
    });
}

Result<std::vector<Container>> read_containers(std::string_view body) {
    return read_array_text(body, [](ObjectReader& reader) {
        Container container;
        container.id = reader.string("Id");
        auto names = reader.strings("Names");
        if (!names.empty()) container.name = names.front();
        if (container.name.starts_with('/')) container.name.erase(0, 1);
        container.state = reader.string("State");
        container.labels = reader.string_map("Labels");
        return container;
    });
}

Result<Volume> read_volume(std::string_view body) {
    return read_object(body, read_volume_object);
}

Result<std::vector<Volume>> read_volumes(std::string_view body) {
    auto document = parse_json(body);
    if (!document) return fail(Error(Code::unavailable, document.error().message()).in("the engine's answer"));
    auto volumes = document->is_object() ? document->value("Volumes", json()) : json();
    return read_array(volumes, read_volume_object);
}

Result<Image> read_image(std::string_view body) {
    return read_object(body, [](ObjectReader& reader) {
        Image image;
        image.id = reader.string("Id");
        if (const auto* config = reader.field("Config")) {
            ObjectReader inner(*config, "Config", reader.problems(), UnknownFields::ignore);
            image.user = inner.optional_string("User").value_or("");
            image.volumes = keys_of(inner.field("Volumes"));
        }
        return image;
    });
}

Result<std::vector<std::string>> read_image_names(std::string_view body) {
    auto images = read_array_text(body, [](ObjectReader& reader) {
        auto names = reader.strings("RepoTags");
        auto digests = reader.strings("RepoDigests");
        names.insert(names.end(), digests.begin(), digests.end());
        return names;
    });
    if (!images) return fail(std::move(images.error()));
    std::vector<std::string> all;
    for (auto& names : *images)
        for (auto& name : names)
            if (name.find("<none>") == std::string::npos) all.push_back(std::move(name));
    return all;
}

Result<std::vector<Network>> read_networks(std::string_view body) {
    return read_array_text(body, [](ObjectReader& reader) {
        Network network;
        network.id = reader.string("Id");
        network.name = reader.string("Name");
        network.internal = reader.boolean_or("Internal", false);
        network.labels = reader.string_map("Labels");
        network.gateway = read_gateway(reader);
        auto options = reader.string_map("Options");
        if (reader.optional_string("Driver").value_or("") == "bridge") {
            auto named = options.find("com.docker.network.bridge.name");
            network.bridge = named != options.end() ? named->second : "br-" + network.id.substr(0, 12);
        }
        return network;
    });
}

Result<ExecState> read_exec(std::string_view body) {
    return read_object(body, [](ObjectReader& reader) {
        ExecState state;
        state.running = reader.boolean("Running");
        state.exit_code =
            reader.optional_integer("ExitCode", std::numeric_limits<int>::min(), std::numeric_limits<int>::max())
                .value_or(0);
        return state;
    });
}

Result<EngineEvent> read_event(std::string_view line) {
    return read_object(line, [](ObjectReader& reader) {
        EngineEvent event;
        event.action = reader.optional_string("Action").value_or("");
        if (const auto* actor = reader.field("Actor")) {
            ObjectReader inner(*actor, "Actor", reader.problems(), UnknownFields::ignore);
            event.container = inner.optional_string("ID").value_or("");
            event.attributes = inner.string_map("Attributes");
        }
        return event;
    });
}

std::optional<std::string> read_pull_error(std::string_view line) {
    auto error = read_object(line, [](ObjectReader& reader) { return reader.optional_string("error"); });
    return error ? *error : std::nullopt;
}

std::optional<std::int64_t> read_path_size(const http::Response& response) {
    const auto* header = response.headers.find("X-Docker-Container-Path-Stat");
    auto text = header != nullptr ? base64_decode(*header) : std::nullopt;
    if (!text) return std::nullopt;
    auto size = read_object(*text, [](ObjectReader& reader) {
        return reader.integer("size", 0, std::numeric_limits<std::int64_t>::max());
    });
    return size ? std::optional(*size) : std::nullopt;
}

}  // namespace sandbox::runtime::docker
