#include "docker/disk_images.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <sandbox/async/offload.hpp>

#include "docker/single_flight.hpp"
#include "docker/tool.hpp"

namespace sandbox::runtime::docker {

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr std::string_view kSuffix = ".ext4";
constexpr std::string_view kTemplate = "template-";
/// Each holds some MiB; sizes that are asked for seldom are made anew.
constexpr std::size_t kMostTemplates = 16;
constexpr auto kToolTime = 30s;

Error errno_error(std::string_view what) {
    return {Code::unavailable, fmt::format("{}: {}", what, std::strerror(errno))};
}

/// An empty ext4 whose root everybody may write. No journal: the image never outlives a crash of its host.
Result<void> make_file_system(const std::string& file, std::int64_t mib) {
    auto mke2fs = find_tool("mke2fs");
    auto debugfs = find_tool("debugfs");
    if (!mke2fs || !debugfs) return fail(Code::unavailable, "mke2fs and debugfs are not there (package e2fsprogs)");
    FileDescriptor created(::open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!created || ::ftruncate(created.get(), mib * 1024 * 1024) != 0) return fail(errno_error("make " + file));
    auto made = run_tool({*mke2fs, "-q", "-F", "-t", "ext4", "-m", "0", "-O", "^has_journal", "-E",
                          "lazy_itable_init=1,nodiscard", file},
                         "", kToolTime);
    if (!made) return fail(std::move(made.error()));
    // Without lost+found a repository can be cloned into the root itself.
    auto opened =
        run_tool({*debugfs, "-w", "-f", "-", file}, "rmdir lost+found\nset_inode_field / mode 041777\n", kToolTime);
    if (!opened) return fail(std::move(opened.error()));
    return {};
}

/// Copies the parts of a sparse file that hold data.
Result<void> copy_sparse(const std::string& from, const std::string& to) {
    FileDescriptor source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
    if (!source) return fail(errno_error("open " + from));
    FileDescriptor target(::open(to.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    struct stat status{};
    if (!target || ::fstat(source.get(), &status) != 0 || ::ftruncate(target.get(), status.st_size) != 0)
        return fail(errno_error("make " + to));
    off_t begin = 0;
    while ((begin = ::lseek(source.get(), begin, SEEK_DATA)) >= 0) {
        off_t end = ::lseek(source.get(), begin, SEEK_HOLE);
        if (end < 0) return fail(errno_error("read " + from));
        off_t out = begin;
        while (begin < end) {
            auto copied =
                ::copy_file_range(source.get(), &begin, target.get(), &out, static_cast<std::size_t>(end - begin), 0);
            if (copied <= 0) return fail(errno_error("copy to " + to));
        }
    }
    if (errno != ENXIO) return fail(errno_error("read " + from));
    return {};
}

/// Removes the templates that were made first, all but `kept`.
void keep_newest_templates(const std::string& directory, std::size_t kept) {
    std::vector<std::pair<fs::file_time_type, fs::path>> found;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(directory, error))
        if (entry.path().filename().string().starts_with(kTemplate))
            found.emplace_back(entry.last_write_time(error), entry.path());
    std::ranges::sort(found);
    for (std::size_t i = 0; i + kept < found.size(); ++i) fs::remove(found[i].second, error);
}

}  // namespace

DiskImages::DiskImages(std::string directory, asio::thread_pool& pool)
    : directory_(std::move(directory)), pool_(pool) {}

Result<void> DiskImages::check(const std::string& directory) {
    if (!find_tool("mke2fs") || !find_tool("debugfs"))
        return fail(Code::unavailable, "mke2fs and debugfs are not there (package e2fsprogs)");
    std::error_code error;
    fs::create_directories(directory, error);
    if (error) return fail(Code::unavailable, fmt::format("{}: {}", directory, error.message()));
    fs::permissions(directory, fs::perms::owner_all, error);
    auto probe = directory + "/probe";
    FileDescriptor file(::open(probe.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!file || ::ftruncate(file.get(), 1024 * 1024) != 0) return fail(errno_error("make " + probe));
    auto device = LoopDevice::attach(probe);
    fs::remove(probe, error);
    if (!device) return fail(std::move(device.error()));
    return {};
}

std::string DiskImages::file_of(const domain::SandboxId& id) const {
    return fmt::format("{}/{}{}", directory_, id.text(), kSuffix);
}

Task<Result<LoopDevice>> DiskImages::make(domain::SandboxId id, std::int64_t mib) {
    auto prototype = co_await provide_template(mib);
    if (!prototype) co_return fail(std::move(prototype.error()).in("make the disk image"));
    auto copy = [from = std::move(*prototype), to = file_of(id)]() -> Result<LoopDevice> {
        auto copied = copy_sparse(from, to);
        if (!copied) return fail(std::move(copied.error()));
        return LoopDevice::attach(to);
    };
    auto device = co_await async::offload(pool_, std::move(copy));
    if (!device) co_return fail(std::move(device.error()).in("make the disk image"));
    co_return device;
}

Task<Result<std::string>> DiskImages::provide_template(std::int64_t mib) {
    while (busy_) co_await idle_.wait(Deadline::max());
    auto file = fmt::format("{}/{}{}{}", directory_, kTemplate, mib, kSuffix);
    if (fs::exists(file)) co_return file;
    SingleFlight flight(busy_, idle_);
    // Made under another name: one that was not finished is never taken for one that was.
    auto work = [directory = directory_, file, mib]() -> Result<void> {
        keep_newest_templates(directory, kMostTemplates - 1);
        auto unfinished = directory + "/unfinished";
        auto made = make_file_system(unfinished, mib);
        if (!made) return made;
        std::error_code error;
        fs::rename(unfinished, file, error);
        if (error) return fail(Code::unavailable, fmt::format("{}: {}", file, error.message()));
        return {};
    };
    auto made = co_await async::offload(pool_, std::move(work));
    if (!made) co_return fail(std::move(made.error()));
    co_return file;
}

void DiskImages::remove(const domain::SandboxId& id) {
    std::error_code error;
    fs::remove(file_of(id), error);
}

std::vector<domain::SandboxId> DiskImages::all() const {
    std::vector<domain::SandboxId> ids;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(directory_, error))
        if (auto id = domain::SandboxId::parse(entry.path().stem().string())) ids.push_back(*id);
    return ids;
}

}  // namespace sandbox::runtime::docker
