#include "docker/engine.hpp"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sandbox/base/json_reader.hpp>

#include "docker/names.hpp"

namespace sandbox::runtime::docker {

namespace {

using nlohmann::json;

constexpr std::size_t kAnswerLimit = 16 * 1024 * 1024;
/// A line of a pull's progress or of the events: some hundred bytes, with labels a few thousand.
constexpr std::size_t kLineLimit = 256 * 1024;

http::ClientSettings client_settings(http::Url address) {
    http::ClientSettings settings;
    settings.server = std::move(address);
    settings.response_limit_bytes = kAnswerLimit;
    settings.max_idle_connections = 32;  // a create uses three side by side
    return settings;
}

/// filters={"label":["a=b"]}, encoded.
std::string filter_query(const json& filters) {
    return http::encode_query({{"filters", dump_json(filters)}});
}

bool is_success(const http::Response& response) {
    return response.status >= 200 && response.status < 300;
}

/// Cuts a stream of bytes into lines. A line that is too long is given in pieces, which then are no JSON.
class Lines {
public:
    template <class OnLine>
    void feed(std::string_view bytes, OnLine on_line) {
        while (!bytes.empty()) {
            auto end = bytes.find('\n');
            line_.append(bytes.substr(0, end));
            bool ended = end != std::string_view::npos;
            bytes.remove_prefix(ended ? end + 1 : bytes.size());
            if (ended || line_.size() > kLineLimit) {
                if (!line_.empty()) on_line(std::string_view(line_));
                line_.clear();
            }
        }
    }

private:
    std::string line_;
};

/// The answer's content read by `read`, or the error of the call itself.
template <class Read>
auto read_answer(Result<http::Response> response, std::string_view what, Read read) -> decltype(read(std::string())) {
    if (!response) return fail(std::move(response.error()));
    auto value = read(response->body);
    if (!value) return fail(std::move(value.error()).in(what));
    return value;
}

Result<void> done(const Result<http::Response>& response) {
    if (!response) return fail(response.error());
    return {};
}

}  // namespace

Engine::Engine(asio::any_io_executor executor, http::Url address)
    : client_(std::move(executor), client_settings(std::move(address))) {}

http::Request Engine::request(std::string method, std::string_view target) const {
    http::Request request;
    request.method = std::move(method);
    request.target = prefix_ + std::string(target);
    return request;
}

http::Request Engine::json_request(std::string_view target, const json& body) const {
    auto post = request("POST", target);
    post.headers.set("Content-Type", "application/json");
    post.body = dump_json(body);
    return post;
}

Task<Result<http::Response>> Engine::call(http::Request request, std::string what, Deadline deadline) {
    auto response = co_await client_.send(std::move(request), deadline);
    if (!response) co_return fail(std::move(response.error()).in(what));
    // 304: it is already as asked for.
    if (!is_success(*response) && response->status != 304) co_return fail(error_of(*response, what));
    co_return response;
}

Task<Result<EngineVersion>> Engine::negotiate(Deadline deadline) {
    http::Request ask;
    ask.target = "/version";
    auto response = co_await call(std::move(ask), "ask the engine for its version", deadline);
    if (!response) co_return fail(std::move(response.error()));
    auto version = read_version(response->body);
    if (version) prefix_ = "/v" + version->api;
    co_return version;
}

Task<Result<EngineInfo>> Engine::info(Deadline deadline) {
    auto response = co_await call(request("GET", "/info"), "ask the engine about its host", deadline);
    co_return read_answer(std::move(response), "ask the engine about its host", read_info);
}

Task<Result<std::string>> Engine::create_container(std::string_view name, const json& body, Deadline deadline) {
    auto post = json_request("/containers/create?" + http::encode_query({{"name", std::string(name)}}), body);
    auto response = co_await call(std::move(post), "create the container", deadline);
    co_return read_answer(std::move(response), "create the container", read_id);
}

Task<Result<void>> Engine::start_container(std::string_view container, Deadline deadline) {
    auto post = request("POST", fmt::format("/containers/{}/start", http::percent_encode(container)));
    co_return done(co_await call(std::move(post), "start the container", deadline));
}

Task<Result<Container>> Engine::inspect_container(std::string_view container, Deadline deadline) {
    auto get = request("GET", fmt::format("/containers/{}/json", http::percent_encode(container)));
    auto response = co_await call(std::move(get), "inspect the container", deadline);
    co_return read_answer(std::move(response), "inspect the container", read_container);
}

Task<Result<void>> Engine::kill_container(std::string_view container, Deadline deadline) {
    auto post = request("POST", fmt::format("/containers/{}/kill", http::percent_encode(container)));
    co_return done(co_await call(std::move(post), "kill the container", deadline));
}

Task<Result<void>> Engine::remove_container(std::string_view container, Deadline deadline) {
    auto remove = request("DELETE", fmt::format("/containers/{}?force=1&v=1", http::percent_encode(container)));
    co_return done(co_await call(std::move(remove), "remove the container", deadline));
}

Task<Result<std::vector<Container>>> Engine::list_containers(std::string_view label, Deadline deadline) {
    auto get = request("GET", "/containers/json?all=1&" + filter_query({{"label", json::array({label})}}));
    auto response = co_await call(std::move(get), "list the containers", deadline);
    co_return read_answer(std::move(response), "list the containers", read_containers);
}

Task<Result<void>> Engine::put_archive(std::string_view container, std::string_view directory, std::string tar,
                                       Deadline deadline) {
    auto put = request("PUT", fmt::format("/containers/{}/archive?{}", http::percent_encode(container),
                                          http::encode_query({{"path", std::string(directory)}})));
    put.headers.set("Content-Type", "application/x-tar");
    put.body = std::move(tar);
    co_return done(co_await call(std::move(put), "put a file into the container", deadline));
}

Task<Result<std::int64_t>> Engine::file_size(std::string_view container, std::string_view path, Deadline deadline) {
    auto head = request("HEAD", fmt::format("/containers/{}/archive?{}", http::percent_encode(container),
                                            http::encode_query({{"path", std::string(path)}})));
    auto response = co_await call(std::move(head), "look for a file in the container", deadline);
    if (!response) co_return fail(std::move(response.error()));
    auto size = read_path_size(*response);
    if (!size) co_return fail(Code::unavailable, "look for a file in the container: the answer names no size");
    co_return *size;
}

Task<Result<std::unique_ptr<http::Stream>>> Engine::attach(std::string_view container, Deadline deadline) {
    auto post = request("POST", fmt::format("/containers/{}/attach?stream=1&stdin=1&stdout=1&stderr=1",
                                            http::percent_encode(container)));
    auto stream = co_await client_.upgrade(std::move(post), "tcp", deadline);
    if (!stream) co_return fail(std::move(stream.error()).in("attach to the container"));
    co_return stream;
}

Task<Result<Volume>> Engine::create_volume(const VolumeRequest& volume, Deadline deadline) {
    json body = {{"Name", volume.name}, {"Driver", "local"}, {"Labels", volume.labels}};
    if (!volume.options.empty()) body["DriverOpts"] = volume.options;
    auto response = co_await call(json_request("/volumes/create", body), "create the volume", deadline);
    co_return read_answer(std::move(response), "create the volume", read_volume);
}

Task<Result<Volume>> Engine::inspect_volume(std::string_view name, Deadline deadline) {
    auto get = request("GET", fmt::format("/volumes/{}", http::percent_encode(name)));
    auto response = co_await call(std::move(get), "inspect the volume", deadline);
    co_return read_answer(std::move(response), "inspect the volume", read_volume);
}

Task<Result<void>> Engine::remove_volume(std::string_view name, Deadline deadline) {
    auto remove = request("DELETE", fmt::format("/volumes/{}", http::percent_encode(name)));
    co_return done(co_await call(std::move(remove), "remove the volume", deadline));
}

Task<Result<std::vector<Volume>>> Engine::list_volumes(std::string_view label, Deadline deadline) {
    auto get = request("GET", "/volumes?" + filter_query({{"label", json::array({label})}}));
    auto response = co_await call(std::move(get), "list the volumes", deadline);
    co_return read_answer(std::move(response), "list the volumes", read_volumes);
}

Task<Result<Image>> Engine::inspect_image(std::string_view reference, Deadline deadline) {
    auto get = request("GET", fmt::format("/images/{}/json", http::percent_encode(reference)));
    auto response = co_await call(std::move(get), "look for the image", deadline);
    co_return read_answer(std::move(response), "look for the image", read_image);
}

Task<Result<std::vector<std::string>>> Engine::list_images(Deadline deadline) {
    auto response = co_await call(request("GET", "/images/json"), "list the images", deadline);
    co_return read_answer(std::move(response), "list the images", read_image_names);
}

Task<Result<void>> Engine::pull_image(std::string_view repository, std::string_view tag, const Secret& credentials,
                                      Deadline deadline) {
    auto post = request("POST", "/images/create?" + http::encode_query({{"fromImage", std::string(repository)},
                                                                        {"tag", std::string(tag)}}));
    if (!credentials.empty()) post.headers.set("X-Registry-Auth", credentials.reveal());
    Lines lines;
    std::optional<std::string> failure;
    auto on_data = [&](std::string_view bytes) {
        lines.feed(bytes, [&](std::string_view line) {
            if (auto error = read_pull_error(line)) failure = std::move(error);
        });
        return true;
    };
    auto response = co_await client_.stream(std::move(post), on_data, deadline);
    if (!response) co_return fail(std::move(response.error()).in("pull the image"));
    if (!is_success(*response)) co_return fail(error_of(*response, "pull the image"));
    if (failure) co_return fail(Error(Code::unavailable, one_line(*failure)).in("pull the image"));
    co_return Result<void>{};
}

Task<Result<std::vector<Network>>> Engine::find_networks(std::string_view name, Deadline deadline) {
    auto get = request("GET", "/networks?" + filter_query({{"name", json::array({name})}}));
    auto response = co_await call(std::move(get), "look for the network", deadline);
    auto networks = read_answer(std::move(response), "look for the network", read_networks);
    // The engine's filter matches any part of a name.
    if (networks) std::erase_if(*networks, [name](const Network& network) { return network.name != name; });
    co_return networks;
}

Task<Result<std::string>> Engine::create_network(const NetworkRequest& network, Deadline deadline) {
    json body = {{"Name", network.name},     {"CheckDuplicate", true},
                 {"Driver", "bridge"},       {"Internal", network.internal},
                 {"Labels", network.labels}, {"Options", {{"com.docker.network.bridge.enable_icc", "false"}}}};
    auto response = co_await call(json_request("/networks/create", body), "create the network", deadline);
    co_return read_answer(std::move(response), "create the network", read_id);
}

Task<Result<void>> Engine::remove_network(std::string_view network, Deadline deadline) {
    auto remove = request("DELETE", fmt::format("/networks/{}", http::percent_encode(network)));
    co_return done(co_await call(std::move(remove), "remove the network", deadline));
}

Task<Result<std::string>> Engine::create_exec(std::string_view container, const ExecRequest& exec, Deadline deadline) {
    json env = json::array();
    for (const auto& [name, value] : exec.env) env.push_back(name + "=" + value);
    json body = {{"Cmd", exec.argv},     {"Env", std::move(env)}, {"AttachStdin", exec.stdin_open},
                 {"AttachStdout", true}, {"AttachStderr", true},  {"Tty", false}};
    if (exec.cwd) body["WorkingDir"] = *exec.cwd;
    if (exec.user) body["User"] = *exec.user;
    auto target = fmt::format("/containers/{}/exec", http::percent_encode(container));
    auto response = co_await call(json_request(target, body), "create the exec", deadline);
    co_return read_answer(std::move(response), "create the exec", read_id);
}

Task<Result<std::unique_ptr<http::Stream>>> Engine::start_exec(std::string_view exec, Deadline deadline) {
    auto post =
        json_request(fmt::format("/exec/{}/start", http::percent_encode(exec)), {{"Detach", false}, {"Tty", false}});
    auto stream = co_await client_.upgrade(std::move(post), "tcp", deadline);
    if (!stream) co_return fail(std::move(stream.error()).in("start the exec"));
    co_return stream;
}

Task<Result<ExecState>> Engine::inspect_exec(std::string_view exec, Deadline deadline) {
    auto get = request("GET", fmt::format("/exec/{}/json", http::percent_encode(exec)));
    auto response = co_await call(std::move(get), "inspect the exec", deadline);
    co_return read_answer(std::move(response), "inspect the exec", read_exec);
}

Task<Result<void>> Engine::watch_containers(std::function<void(EngineEvent)> on_event, Deadline deadline) {
    auto get = request(
        "GET", "/events?" + filter_query({{"type", json::array({"container"})}, {"label", json::array({kIdLabel})}}));
    Lines lines;
    auto on_data = [&](std::string_view bytes) {
        lines.feed(bytes, [&](std::string_view line) {
            if (auto event = read_event(line)) on_event(std::move(*event));
        });
        return true;
    };
    auto response = co_await client_.stream(std::move(get), on_data, deadline);
    if (!response) co_return fail(std::move(response.error()).in("watch the engine's events"));
    if (!is_success(*response)) co_return fail(error_of(*response, "watch the engine's events"));
    co_return fail(Code::unavailable, "watch the engine's events: the engine ended the stream");
}

}  // namespace sandbox::runtime::docker
