#include "place.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "docker/tool.hpp"

namespace sandbox::driver_runc {

namespace fs = std::filesystem;

namespace {

std::string variable(const char* name, std::string otherwise) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : std::move(otherwise);
}

/// Beside this program, or where it is installed.
std::string find_guest() {
    std::error_code error;
    const auto here = fs::read_symlink("/proc/self/exe", error).parent_path();
    const auto beside = here / "sandbox-guest";
    return fs::exists(beside, error) ? beside : here.parent_path() / "libexec/sandbox/sandbox-guest";
}

}  // namespace

Result<Settings> find_settings() {
    if (::geteuid() != 0) return fail(Code::unavailable, "this driver must run as root");
    Settings settings;
    settings.state_dir = variable("SANDBOX_STATE_DIR", "/var/lib/sandbox") + "/runc";
    settings.images_dir = variable("RUNC_DRIVER_IMAGES", "/var/lib/sandbox-runc/images");
    settings.guest = variable("RUNC_DRIVER_GUEST", find_guest());
    auto runc = runtime::docker::find_tool("runc");
    if (!runc) return fail(Code::unavailable, "there is no runc program on this host (package runc)");
    settings.runc = std::move(*runc);
    if (::access(settings.guest.c_str(), R_OK | X_OK) != 0)
        return fail(Code::unavailable, fmt::format("there is no sandbox-guest program at {}", settings.guest));
    std::error_code error;
    for (const auto& directory : {settings.state_dir, settings.sandboxes(), settings.disks()}) {
        fs::create_directories(directory, error);
        if (error) return fail(Code::unavailable, fmt::format("{}: {}", directory, error.message()));
        fs::permissions(directory, fs::perms::owner_all, error);
    }
    return settings;
}

Place::Place(const Settings& settings, domain::SandboxId id)
    : id_(id), directory_(settings.sandboxes() + "/" + id.text()) {}

bool Place::exists() const {
    return ::access(directory_.c_str(), F_OK) == 0;
}

bool Place::is_ready() const {
    return ::access(file("ready").c_str(), F_OK) == 0;
}

bool Place::is_alive() const {
    // Without a reader, the opening fails.
    return static_cast<bool>(FileDescriptor(::open(file("in").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)));
}

void Place::remove() const {
    std::error_code error;
    fs::remove_all(directory_, error);
}

/// Not one that was removed while it was waited for.
bool Place::is_directory_of(int descriptor) const {
    struct stat held{};
    struct stat named{};
    return ::fstat(descriptor, &held) == 0 && ::stat(directory_.c_str(), &named) == 0 && held.st_ino == named.st_ino &&
           held.st_dev == named.st_dev;
}

Result<FileDescriptor> Place::lock() const {
    for (;;) {
        if (::mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST) break;
        FileDescriptor directory(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (!directory && errno == ENOENT) continue;
        if (!directory || ::flock(directory.get(), LOCK_EX) != 0) break;
        if (is_directory_of(directory.get())) return directory;
    }
    return fail(Code::unavailable, fmt::format("{}: {}", directory_, std::strerror(errno)));
}

std::optional<FileDescriptor> Place::try_lock() const {
    FileDescriptor directory(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory || ::flock(directory.get(), LOCK_EX | LOCK_NB) != 0) return std::nullopt;
    if (!is_directory_of(directory.get())) return std::nullopt;
    return directory;
}

std::vector<Place> all_places(const Settings& settings) {
    std::vector<Place> places;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(settings.sandboxes(), error))
        if (const auto id = domain::SandboxId::parse(entry.path().filename().string()))
            places.emplace_back(settings, *id);
    return places;
}

}  // namespace sandbox::driver_runc
