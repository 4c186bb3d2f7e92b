#include "files.hpp"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

namespace sandbox::cli {
namespace {

std::string reason(int number) {
    return std::generic_category().message(number);
}

/// Owns a file descriptor.
class Descriptor {
public:
    explicit Descriptor(int number) : number_(number) {}
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    [[nodiscard]] int get() const noexcept { return number_; }

private:
    int number_;
};

bool write_whole(int descriptor, const std::string& content) {
    for (std::size_t done = 0; done < content.size();) {
        const auto written = ::write(descriptor, content.data() + done, content.size() - done);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        done += static_cast<std::size_t>(written);
    }
    return ::fsync(descriptor) == 0;
}

}  // namespace

Result<std::string> read_to_end(int descriptor, std::size_t limit_bytes) {
    std::string content;
    char buffer[64 * 1024];
    for (;;) {
        const auto got = ::read(descriptor, buffer, sizeof buffer);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail(Code::unavailable, reason(errno));
        if (got == 0) return content;
        content.append(buffer, static_cast<std::size_t>(got));
        if (content.size() > limit_bytes)
            return fail(Code::invalid_argument, fmt::format("more than {} MiB", limit_bytes / 1024 / 1024));
    }
}

namespace {

std::unexpected<Error> not_opened(const std::string& path) {
    const auto code = errno == ENOENT ? Code::not_found : Code::unavailable;
    return fail(code, fmt::format("{}: {}", path, reason(errno)));
}

Result<std::string> content_of(const Descriptor& file, const std::string& path, std::size_t limit_bytes) {
    auto content = read_to_end(file.get(), limit_bytes);
    if (!content) return fail(std::move(content.error()).in(path));
    return content;
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t limit_bytes) {
    // Non-blocking, so that a named pipe without a writer does not hang us before it is refused.
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.get() < 0) return not_opened(path);
    struct stat status{};
    if (::fstat(file.get(), &status) != 0) return fail(Code::unavailable, fmt::format("{}: {}", path, reason(errno)));
    if (!S_ISREG(status.st_mode)) return fail(Code::invalid_argument, path + " is not a regular file");
    return content_of(file, path, limit_bytes);
}

Result<std::string> read_file_or_pipe(const std::string& path, std::size_t limit_bytes) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) return not_opened(path);
    return content_of(file, path, limit_bytes);
}

Result<void> replace_file(const std::string& path, const std::string& content) {
    namespace fs = std::filesystem;
    std::error_code error;
    // Written where a symbolic link leads, so that the link stays.
    const auto target = fs::weakly_canonical(path, error);
    if (error) return fail(Code::unavailable, fmt::format("{}: {}", path, error.message()));
    const auto folder = target.parent_path();
    if (!fs::exists(folder, error)) {
        const auto former = ::umask(0077);
        fs::create_directories(folder, error);
        ::umask(former);
        if (error) return fail(Code::unavailable, fmt::format("{}: {}", folder.string(), error.message()));
    }

    std::string temporary = (folder / ".sandbox-XXXXXX").string();
    const Descriptor file(::mkostemp(temporary.data(), O_CLOEXEC));  // mode 0600
    if (file.get() < 0) return fail(Code::unavailable, fmt::format("{}: {}", folder.string(), reason(errno)));
    if (!write_whole(file.get(), content) || ::rename(temporary.c_str(), target.c_str()) != 0) {
        const auto number = errno;
        ::unlink(temporary.c_str());
        return fail(Code::unavailable, fmt::format("{}: {}", path, reason(number)));
    }
    return {};
}

}  // namespace sandbox::cli
