#pragma once

#include <string>

#include <sandbox/base/error.hpp>

#include "docker/file_descriptor.hpp"

namespace sandbox::runtime::docker {

/// A loop device over a file. The kernel detaches it by itself when nobody has it open or mounted any more, so that
/// neither a crash nor a removed container leaves one behind: hold this until the engine has mounted it.
class LoopDevice {
public:
    LoopDevice() = default;
    /// Blocks for a few milliseconds at most. Errors: unavailable.
    [[nodiscard]] static Result<LoopDevice> attach(const std::string& file);

    [[nodiscard]] const std::string& path() const noexcept { return path_; }  // "/dev/loop7"

private:
    std::string path_;
    FileDescriptor device_;
};

}  // namespace sandbox::runtime::docker
