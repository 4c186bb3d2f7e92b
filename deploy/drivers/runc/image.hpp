#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <sandbox/base/error.hpp>

namespace sandbox::driver_runc {

/// An image as `unpack-image` left it: a directory with `rootfs` and, where the image has one, `config.json`.
struct Image {
    std::string rootfs;
    std::map<std::string, std::string> env;
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
};

/// Errors: not_found when it was not unpacked here; unavailable when what is there makes no sense.
[[nodiscard]] Result<Image> find_image(const std::string& images_dir, const std::string& name);

/// The directory's name for an image: "/" and "%" are %2F and %25. Empty for a name that can't be one.
[[nodiscard]] std::string directory_name(const std::string& image);

}  // namespace sandbox::driver_runc
