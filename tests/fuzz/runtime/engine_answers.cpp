#include "docker/engine_answers.hpp"

#include <cstdint>
#include <string_view>

#include <sandbox/base/text.hpp>

#include "docker/container_policy.hpp"
#include "docker/image_reference.hpp"
#include "docker/stdio_frames.hpp"
#include "host_status.hpp"

namespace {

using namespace sandbox;
using namespace sandbox::runtime;
using namespace sandbox::runtime::docker;

/// One bounded line that a terminal shows as it is.
void expect_sentence(std::string_view text) {
    constexpr std::size_t kLongest = 1000;
    bool clean = is_utf8(text) && text.size() <= kLongest;
    for (char c : text) clean = clean && static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
    if (!clean) __builtin_trap();
}

template <class T>
void read(std::string_view body, Result<T> (*reader)(std::string_view)) {
    if (auto value = reader(body); !value) expect_sentence(value.error().message());
}

}  // namespace

// Whatever an engine, a registry or the host's files hold: it is read whole or refused in one bounded line.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view body(reinterpret_cast<const char*>(data), size);
    read(body, read_version);
    read(body, read_info);
    read(body, read_id);
    read(body, read_container);
    read(body, read_containers);
    read(body, read_volume);
    read(body, read_volumes);
    read(body, read_image);
    read(body, read_image_names);
    read(body, read_networks);
    read(body, read_exec);
    read(body, read_event);
    (void)read_pull_error(body);
    (void)parse_resources(body);
    (void)registry_credentials(body, "docker.io");
    (void)memory_in_use(body);
    (void)memory_stall(body);
    http::Response response;
    response.status = 404;
    response.body = body;
    auto error = error_of(response, "call");
    expect_sentence(error.message());
    auto image = ImageReference::parse(body);
    (void)pull_error(image, body, error);
    std::size_t payload = 0;
    StdioFrames frames;
    for (std::size_t at = 0; at < body.size(); at += 7)
        if (!frames.feed(body.substr(at, 7),
                         [&](StdioFrames::Source, std::string_view bytes) { payload += bytes.size(); }))
            break;
    if (payload > body.size()) __builtin_trap();
    return 0;
}
