#include "docker/guest_volume.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <openssl/evp.h>

#include "docker/names.hpp"
#include "docker/single_flight.hpp"
#include "docker/tar.hpp"

namespace sandbox::runtime::docker {

namespace {

using nlohmann::json;
using namespace std::chrono_literals;

Result<std::string> read_program(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
        return fail(Code::not_found, fmt::format("the guest program {} can't be read ({}): set node.guest_path", path,
                                                 std::strerror(errno)));
    std::string program(std::istreambuf_iterator<char>(file), {});
    if (!program.starts_with("\x7F"
                             "ELF"))
        return fail(Code::not_found, fmt::format("{} is not the guest program: set node.guest_path", path));
    return program;
}

/// The first half of the SHA-256, in hexadecimal: enough to tell versions apart.
std::string digest_of(std::string_view bytes) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1)
        broken_invariant("SHA-256 is not available");
    std::string text;
    for (unsigned i = 0; i < size / 2; ++i) text += fmt::format("{:02x}", digest[i]);
    return text;
}

json fill_request(const std::string& image, const std::string& volume, const domain::NodeId& node) {
    return {{"Image", image},
            {"Entrypoint", json::array({kGuestProgram})},
            {"Labels", {{kRoleLabel, kFillRole}, {kNodeLabel, node.text()}}},
            {"HostConfig",
             {{"NetworkMode", "none"},
              {"Mounts", json::array({{{"Type", "volume"},
                                       {"Source", volume},
                                       {"Target", kGuestDirectory},
                                       {"VolumeOptions", {{"NoCopy", true}}}}})}}}};
}

}  // namespace

Result<void> GuestVolume::check() const {
    auto program = read_program(guest_path_);
    if (!program) return fail(std::move(program.error()));
    return {};
}

Task<Result<std::string>> GuestVolume::provide(std::string image, Deadline deadline) {
    while (busy_)
        if (!co_await idle_.wait(deadline)) co_return fail(Code::deadline_exceeded, "the guest was not there in time");
    if (!name_.empty()) co_return name_;
    SingleFlight flight(busy_, idle_);
    auto program = read_program(guest_path_);
    if (!program) co_return fail(std::move(program.error()));
    auto name = "sandbox-guest-" + digest_of(*program);
    auto volume =
        co_await engine_.create_volume({.name = name, .labels = {{std::string(kRoleLabel), "guest"}}}, deadline);
    if (!volume) co_return fail(std::move(volume.error()));
    auto filled = co_await fill(name, std::move(image), std::move(*program), deadline);
    if (!filled) co_return fail(std::move(filled.error()).in("put the guest into its volume"));
    name_ = name;
    co_return name;
}

/// A container that is never started gives access to the volume.
Task<Result<void>> GuestVolume::fill(std::string volume, std::string image, std::string program, Deadline deadline) {
    auto container = co_await engine_.create_container("", fill_request(image, volume, node_), deadline);
    if (!container) co_return fail(std::move(container.error()));
    const auto size = static_cast<std::int64_t>(program.size());
    auto present = co_await engine_.file_size(*container, kGuestProgram, deadline);
    Result<void> result;
    if (!present || *present != size) {
        auto name = kGuestProgram.substr(kGuestDirectory.size() + 1);
        result = co_await engine_.put_archive(*container, kGuestDirectory, tar_of_program(name, program), deadline);
    }
    // Its remains are found by their label at the next start, should this fail.
    (void)co_await engine_.remove_container(*container, in(30s));
    co_return result;
}

}  // namespace sandbox::runtime::docker
