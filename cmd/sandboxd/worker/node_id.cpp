#include "node_id.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace sandbox::sandboxd {
namespace {

constexpr std::size_t kUuidLength = 36;

/// An open file, closed with its scope.
class File {
public:
    File(const std::string& path, int flags, mode_t mode = 0)
        : descriptor_(open(path.c_str(), flags | O_CLOEXEC, mode)) {}
    ~File() {
        if (descriptor_ >= 0) close(descriptor_);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    [[nodiscard]] int get() const noexcept { return descriptor_; }

private:
    int descriptor_;
};

std::unexpected<Error> failed(std::string_view what, const std::string& path) {
    return fail(Code::unavailable, fmt::format("{} {}: {}", what, path, std::strerror(errno)));
}

Result<domain::NodeId> read_id(const std::string& path, int descriptor) {
    char text[64];
    const auto length = read(descriptor, text, sizeof text);
    if (length < 0) return failed("read", path);
    std::string_view line(text, static_cast<std::size_t>(length));
    if (line.ends_with('\n')) line.remove_suffix(1);
    const auto id = line.size() == kUuidLength ? domain::NodeId::parse(line) : std::nullopt;
    if (!id)
        return fail(Code::invalid_argument,
                    fmt::format("{} does not hold a node id (one UUID and a newline); restore it, or remove it to "
                                "start as a new node",
                                path));
    return *id;
}

Result<void> write_id(const std::string& state_dir, const std::string& path, domain::NodeId id) {
    const auto unfinished = path + ".new";
    const auto line = id.text() + "\n";
    const File file(unfinished, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0644);
    if (file.get() < 0) return failed("create", unfinished);
    if (write(file.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()) || fsync(file.get()) != 0)
        return failed("write", unfinished);
    if (std::rename(unfinished.c_str(), path.c_str()) != 0) return failed("write", path);
    const File directory(state_dir, O_RDONLY | O_DIRECTORY);
    if (directory.get() < 0 || fsync(directory.get()) != 0) return failed("write", path);
    return {};
}

}  // namespace

Result<domain::NodeId> load_or_make_node_id(const std::string& state_dir, Timestamp now, Random& random) {
    const auto path = state_dir + "/node-id";
    const File present(path, O_RDONLY);
    if (present.get() >= 0) return read_id(path, present.get());
    if (errno != ENOENT) return failed("read", path);
    const auto id = domain::NodeId::make(now, random);
    if (auto written = write_id(state_dir, path, id); !written) return fail(std::move(written).error());
    return id;
}

}  // namespace sandbox::sandboxd
