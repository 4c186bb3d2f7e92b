#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <nlohmann/json_fwd.hpp>

#include <sandbox/async/task.hpp>
#include <sandbox/base/error.hpp>
#include <sandbox/base/secret.hpp>
#include <sandbox/http/client.hpp>
#include <sandbox/http/stream.hpp>
#include <sandbox/http/url.hpp>

#include "docker/engine_answers.hpp"

namespace sandbox::runtime::docker {

/// What to make as a named volume.
struct VolumeRequest {
    std::string name;
    std::map<std::string, std::string> labels;
    std::map<std::string, std::string> options = {};  // of the local driver: type, device, o
};

struct NetworkRequest {
    std::string name;
    bool internal = false;
    std::map<std::string, std::string> labels;
};

struct ExecRequest {
    std::vector<std::string> argv;
    std::map<std::string, std::string> env;
    std::optional<std::string> cwd;
    std::optional<std::string> user;  // the image's own when absent
    bool stdin_open = false;
};

/// The Docker Engine's HTTP API, one member a call, as far as the runtime uses it. Holds no state of sandboxes.
/// Owned by the runtime; lives on the io thread; calls run side by side.
/// Errors of all calls: unavailable when the engine can't be reached or its answer makes no sense, deadline_exceeded,
/// cancelled, and what the engine itself refuses, as error_of() says.
class Engine {
public:
    Engine(asio::any_io_executor executor, http::Url address);

    /// Asks which versions the engine speaks and decides for one. Must have succeeded before any other call; may be
    /// repeated, since an engine can be replaced while we run.
    Task<Result<EngineVersion>> negotiate(Deadline deadline);
    [[nodiscard]] bool negotiated() const noexcept { return !prefix_.empty(); }
    Task<Result<EngineInfo>> info(Deadline deadline);

    /// The new container's id. not_found when the image is missing, conflict when the name is taken.
    Task<Result<std::string>> create_container(std::string_view name, const nlohmann::json& request, Deadline deadline);
    Task<Result<void>> start_container(std::string_view container, Deadline deadline);
    Task<Result<Container>> inspect_container(std::string_view container, Deadline deadline);
    Task<Result<void>> kill_container(std::string_view container, Deadline deadline);
    /// Kills it and removes it with its anonymous volumes. not_found when there is none.
    Task<Result<void>> remove_container(std::string_view container, Deadline deadline);
    /// All, running or not, that carry the label ("name" or "name=value").
    Task<Result<std::vector<Container>>> list_containers(std::string_view label, Deadline deadline);
    /// Unpacks a tar archive into a directory of the container, running or not.
    Task<Result<void>> put_archive(std::string_view container, std::string_view directory, std::string tar,
                                   Deadline deadline);
    /// The size of a file in the container; not_found when it isn't there.
    Task<Result<std::int64_t>> file_size(std::string_view container, std::string_view path, Deadline deadline);
    /// The container's standard streams, both ways. What comes is framed (StdioFrames).
    Task<Result<std::unique_ptr<http::Stream>>> attach(std::string_view container, Deadline deadline);

    /// Gives back the existing volume when there is one of that name: the labels say whose it is.
    Task<Result<Volume>> create_volume(const VolumeRequest& request, Deadline deadline);
    Task<Result<Volume>> inspect_volume(std::string_view name, Deadline deadline);
    Task<Result<void>> remove_volume(std::string_view name, Deadline deadline);
    Task<Result<std::vector<Volume>>> list_volumes(std::string_view label, Deadline deadline);

    Task<Result<Image>> inspect_image(std::string_view reference, Deadline deadline);
    /// Tags and digests of all images.
    Task<Result<std::vector<std::string>>> list_images(Deadline deadline);
    /// Ends when the image is there. `repository` and `tag` (or digest) as the engine wants them apart; `credentials`
    /// is the X-Registry-Auth header, empty for none.
    Task<Result<void>> pull_image(std::string_view repository, std::string_view tag, const Secret& credentials,
                                  Deadline deadline);

    /// Networks of exactly that name.
    Task<Result<std::vector<Network>>> find_networks(std::string_view name, Deadline deadline);
    /// conflict when there is one of that name.
    Task<Result<std::string>> create_network(const NetworkRequest& request, Deadline deadline);
    Task<Result<void>> remove_network(std::string_view network, Deadline deadline);

    Task<Result<std::string>> create_exec(std::string_view container, const ExecRequest& request, Deadline deadline);
    /// The exec's standard streams, framed. The command runs from now on.
    Task<Result<std::unique_ptr<http::Stream>>> start_exec(std::string_view exec, Deadline deadline);
    Task<Result<ExecState>> inspect_exec(std::string_view exec, Deadline deadline);

    /// Container events as they happen, until the connection ends (an error) or the deadline.
    Task<Result<void>> watch_containers(std::function<void(EngineEvent)> on_event, Deadline deadline);

private:
    Task<Result<http::Response>> call(http::Request request, std::string what, Deadline deadline);
    [[nodiscard]] http::Request request(std::string method, std::string_view target) const;
    [[nodiscard]] http::Request json_request(std::string_view target, const nlohmann::json& body) const;

    http::Client client_;
    std::string prefix_;  // "/v1.41" once negotiated
};

}  // namespace sandbox::runtime::docker
