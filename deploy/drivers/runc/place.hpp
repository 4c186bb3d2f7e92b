#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sandbox/base/error.hpp>
#include <sandbox/domain/ids.hpp>

#include "docker/file_descriptor.hpp"

namespace sandbox::driver_runc {

using runtime::docker::FileDescriptor;

/// Where everything is. All of it is the driver's own, and root's alone.
struct Settings {
    std::string state_dir;   // $SANDBOX_STATE_DIR/runc
    std::string images_dir;  // $RUNC_DRIVER_IMAGES
    std::string guest;       // the sandbox-guest program
    std::string runc;        // the runc program

    [[nodiscard]] std::string runc_root() const { return state_dir + "/state"; }
    [[nodiscard]] std::string disks() const { return state_dir + "/disks"; }
    [[nodiscard]] std::string sandboxes() const { return state_dir + "/sandboxes"; }
};

/// From the environment. Errors: unavailable with what is missing on this host.
[[nodiscard]] Result<Settings> find_settings();

/// One sandbox's directory: `in` and `out` (the guest's streams, named pipes), `session` (held by who talks to the
/// guest) and `ready` (there once the create has ended well).
class Place {
public:
    Place(const Settings& settings, domain::SandboxId id);

    [[nodiscard]] const domain::SandboxId& id() const noexcept { return id_; }
    /// The container's name for runc, and the last part of its cgroups' paths.
    [[nodiscard]] std::string name() const { return "sandbox-" + id_.text(); }
    [[nodiscard]] std::string file(const char* name) const { return directory_ + "/" + name; }
    [[nodiscard]] bool exists() const;
    [[nodiscard]] bool is_ready() const;
    /// Whether its PID 1 lives: then the reading end of `in` is held by it.
    [[nodiscard]] bool is_alive() const;
    void remove() const;

    /// Makes the directory and waits until nobody else creates or deletes this sandbox; held with the descriptor.
    [[nodiscard]] Result<FileDescriptor> lock() const;
    /// The same at once, of a directory that is there; nullopt when it is held, or gone.
    [[nodiscard]] std::optional<FileDescriptor> try_lock() const;

private:
    [[nodiscard]] bool is_directory_of(int descriptor) const;

    domain::SandboxId id_;
    std::string directory_;
};

/// Those that have a directory, ready or not.
[[nodiscard]] std::vector<Place> all_places(const Settings& settings);

}  // namespace sandbox::driver_runc
