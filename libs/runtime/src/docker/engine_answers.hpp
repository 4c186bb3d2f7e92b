#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sandbox/base/error.hpp>
#include <sandbox/http/message.hpp>

namespace sandbox::runtime::docker {

// What the engine's answers hold, as far as it is used here. The engine is a peer like any other: sizes, types and
// ranges are checked, fields that are not asked for are ignored.

struct EngineVersion {
    std::string name;     // "Docker Engine", "Podman Engine"
    std::string version;  // "20.10.24+dfsg1"
    std::string api;      // the version that is spoken: "1.41"
};

struct EngineInfo {
    std::int64_t cpus = 0;
    std::string kernel;
    std::vector<std::string> runtimes;  // OCI runtimes that the engine knows
    bool rootless = false;              // its containers, mounts and networks are in a user's namespaces
};

struct Container {
    std::string id;
    std::string name;  // without the slash
    std::map<std::string, std::string> labels;
    std::string state;  // created, running, paused, restarting, removing, exited, dead
    std::int64_t exit_code = 0;
    bool oom_killed = false;
    std::string error;  // why it could not be started

    [[nodiscard]] bool running() const { return state == "running" || state == "paused" || state == "restarting"; }
    [[nodiscard]] std::string label(std::string_view name_of_label) const;
};

struct Volume {
    std::string name;
    std::string mountpoint;  // on the engine's host
    std::map<std::string, std::string> labels;
    std::map<std::string, std::string> options;
};

struct Image {
    std::string id;
    std::string user;                  // "", "name", "uid" or "uid:gid"
    std::vector<std::string> volumes;  // paths that it declares
};

struct Network {
    std::string id;
    std::string name;
    bool internal = false;
    std::string bridge;   // the interface's name on the host, "" when it is no bridge
    std::string gateway;  // the host's address in it, "" when there is none
    std::map<std::string, std::string> labels;
};

struct ExecState {
    bool running = false;
    std::int64_t exit_code = 0;
};

struct EngineEvent {
    std::string action;  // die, oom, destroy, …
    std::string container;
    std::map<std::string, std::string> attributes;
};

/// Picks the API version to speak from the answer to /version. Errors: unavailable when the engine only speaks
/// versions before 1.40.
[[nodiscard]] Result<EngineVersion> read_version(std::string_view body);
[[nodiscard]] Result<EngineInfo> read_info(std::string_view body);
/// The "Id" of what was made.
[[nodiscard]] Result<std::string> read_id(std::string_view body);
[[nodiscard]] Result<Container> read_container(std::string_view body);
/// From the list call, which gives neither exit code nor OOM.
[[nodiscard]] Result<std::vector<Container>> read_containers(std::string_view body);
[[nodiscard]] Result<Volume> read_volume(std::string_view body);
[[nodiscard]] Result<std::vector<Volume>> read_volumes(std::string_view body);
[[nodiscard]] Result<Image> read_image(std::string_view body);
/// Tags and digests of all images, without the engine's "<none>" forms.
[[nodiscard]] Result<std::vector<std::string>> read_image_names(std::string_view body);
[[nodiscard]] Result<std::vector<Network>> read_networks(std::string_view body);
[[nodiscard]] Result<ExecState> read_exec(std::string_view body);
[[nodiscard]] Result<EngineEvent> read_event(std::string_view line);
/// One line of a pull's progress: the error it carries, if any.
[[nodiscard]] std::optional<std::string> read_pull_error(std::string_view line);
/// The size of a file from the head of an archive call.
[[nodiscard]] std::optional<std::int64_t> read_path_size(const http::Response& response);

/// A bounded sentence from an answer that is no success. Codes: 404 not_found, 409 conflict, 400 invalid_argument,
/// 401 and 403 permission_denied, else unavailable.
[[nodiscard]] Error error_of(const http::Response& response, std::string_view what);

/// One line of printable text of at most 300 bytes.
[[nodiscard]] std::string one_line(std::string_view text);

}  // namespace sandbox::runtime::docker
