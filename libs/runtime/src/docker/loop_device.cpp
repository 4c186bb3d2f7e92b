#include "docker/loop_device.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>

#include <fmt/format.h>

namespace sandbox::runtime::docker {

namespace {

Error errno_error(std::string_view what) {
    return {Code::unavailable, fmt::format("{}: {}", what, std::strerror(errno))};
}

}  // namespace

Result<LoopDevice> LoopDevice::attach(const std::string& file) {
    FileDescriptor backing(::open(file.c_str(), O_RDWR | O_CLOEXEC));
    if (!backing) return fail(errno_error("open " + file));
    FileDescriptor control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
    if (!control) return fail(errno_error("open /dev/loop-control"));
    // Somebody else may take the free one first.
    constexpr int kTries = 64;
    for (int attempt = 0; attempt < kTries; ++attempt) {
        int number = ::ioctl(control.get(), LOOP_CTL_GET_FREE);
        if (number < 0) return fail(errno_error("get a free loop device"));
        LoopDevice device;
        device.path_ = fmt::format("/dev/loop{}", number);
        device.device_ = FileDescriptor(::open(device.path_.c_str(), O_RDWR | O_CLOEXEC));
        if (!device.device_) return fail(errno_error("open " + device.path_));
        loop_config config{};
        config.fd = static_cast<__u32>(backing.get());
        config.info.lo_flags = LO_FLAGS_AUTOCLEAR;
        auto shown = file.substr(0, sizeof(config.info.lo_file_name) - 1);
        std::memcpy(config.info.lo_file_name, shown.data(), shown.size());
        if (::ioctl(device.device_.get(), LOOP_CONFIGURE, &config) == 0) return device;
        if (errno != EBUSY) return fail(errno_error("attach " + device.path_));
    }
    return fail(Code::unavailable, "no loop device could be had");
}

}  // namespace sandbox::runtime::docker
