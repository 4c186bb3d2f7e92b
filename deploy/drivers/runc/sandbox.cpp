#include "sandbox.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sandbox/base/json_reader.hpp>
#include <sandbox/base/random.hpp>

#include "bundle.hpp"
#include "cgroups.hpp"
#include "docker/disk_images.hpp"
#include "fifo_stream.hpp"
#include "guest_link.hpp"
#include "image.hpp"
#include "runc.hpp"

namespace sandbox::driver_runc {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using nlohmann::json;
using runtime::GuestLink;
using runtime::docker::DiskImages;
using runtime::docker::LoopDevice;

namespace {

constexpr auto kGuestTime = 30s;
constexpr auto kDetachTime = 10s;

/// A session with the guest. One at a time: `session` is locked as long as this lives, by the process, so that cancel()
/// finds who holds it. Waits for its turn.
class Session {
public:
    Session(const asio::any_io_executor& executor, Place place) : place_(std::move(place)) {
        lock_ = FileDescriptor(::open(place_.file("session").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
        struct flock whole{};
        whole.l_type = F_WRLCK;
        while (::fcntl(lock_.get(), F_SETLKW, &whole) != 0 && errno == EINTR) continue;
        GuestLink::Settings settings;
        settings.attach = [executor, of_place = place_](Deadline) -> Task<Result<std::unique_ptr<http::Stream>>> {
            co_return open_guest(executor, of_place);
        };
        link_ = std::make_shared<GuestLink>(std::move(settings), random_);
        asio::co_spawn(executor, link_->run(), asio::detached);
    }
    ~Session() { link_->close(Error(Code::cancelled, "the driver ends")); }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    [[nodiscard]] GuestLink& link() { return *link_; }
    void name(domain::OperationId operation) {
        const auto text = operation.text();
        if (::pwrite(lock_.get(), text.data(), text.size(), 0) < 0) return;  // then it can't be cancelled by its name
    }

private:
    Place place_;
    FileDescriptor lock_;
    SystemRandom random_;
    std::shared_ptr<GuestLink> link_;
};

Result<void> write_file(const std::string& path, const std::string& text) {
    const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    for (std::string_view rest = text; file && !rest.empty();) {
        const auto count = ::write(file.get(), rest.data(), rest.size());
        if (count < 0) return fail(Code::unavailable, fmt::format("{}: {}", path, std::strerror(errno)));
        rest.remove_prefix(static_cast<std::size_t>(count));
    }
    if (!file) return fail(Code::unavailable, fmt::format("{}: {}", path, std::strerror(errno)));
    return {};
}

/// The image file is detached by the kernel when the last process and its mounts have gone, a moment later.
void remove_disk(const std::string& file) {
    if (::access(file.c_str(), F_OK) != 0) return;
    const auto is_attached = [&] {
        std::error_code error;
        for (const auto& device : fs::directory_iterator("/sys/block", error)) {
            std::ifstream backing(device.path() / "loop/backing_file");
            std::string name;
            if (std::getline(backing, name) && name == file) return true;
        }
        return false;
    };
    const auto give_up = std::chrono::steady_clock::now() + kDetachTime;
    while (is_attached() && std::chrono::steady_clock::now() < give_up) std::this_thread::sleep_for(1ms);
    ::unlink(file.c_str());
}

/// Everything of it, whatever is there; the caller holds the lock.
Result<void> remove_locked(const Settings& settings, const Place& place) {
    if (auto emptied = empty_cgroups(place.name()); !emptied) return emptied;
    if (auto forgotten = forget(settings, place); !forgotten) return forgotten;
    remove_disk(fmt::format("{}/{}.ext4", settings.disks(), place.id().text()));
    place.remove();
    return {};
}

Task<Result<LoopDevice>> make_disk(const Settings& settings, domain::SandboxId id, std::int64_t mib) {
    // Of several creates at once, one makes the file system that the others copy.
    const FileDescriptor turn(::open((settings.disks() + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    (void)::flock(turn.get(), LOCK_EX);
    asio::thread_pool pool(1);
    DiskImages disks(settings.disks(), pool);
    co_return co_await disks.make(id, mib);
}

Task<Result<void>> make(const Settings& settings, const Place& place, const domain::SandboxSpec& spec) {
    auto image = find_image(settings.images_dir, spec.image);
    if (!image) co_return fail(std::move(image.error()));
    for (const auto* name : {"in", "out"})
        if (::mkfifo(place.file(name).c_str(), 0600) != 0)
            co_return fail(Code::unavailable, fmt::format("make a named pipe: {}", std::strerror(errno)));
    // Held until runc has mounted it.
    const auto disk = co_await make_disk(settings, place.id(), spec.resources.disk_mib);
    if (!disk) co_return fail(disk.error());
    const auto config = place.file("config.json");
    auto written = write_file(config, dump_json(bundle_config(settings, place, spec, *image, disk->path())));
    if (!written) co_return written;
    auto started = run_detached(settings, place);
    ::unlink(config.c_str());  // it holds the environment
    if (!started) co_return started;

    Session session(co_await asio::this_coro::executor, place);
    if (auto open = co_await session.link().wait_open(in(kGuestTime)); !open) co_return open;
    if (!spec.command.empty()) {
        auto begun = co_await session.link().start_command(spec.command, in(kGuestTime));
        if (!begun) co_return begun;
    }
    co_return write_file(place.file("ready"), "");
}

}  // namespace

Task<Result<void>> create(const Settings& settings, domain::SandboxId id, domain::SandboxSpec spec) {
    if (spec.network != domain::Network::deny)
        co_return fail(Code::invalid_argument, fmt::format("this driver gives no network: network must be deny, not {}",
                                                           to_text(spec.network)));
    const Place place(settings, id);
    const auto lock = place.lock();
    if (!lock) co_return fail(lock.error());
    if (place.is_ready() && place.is_alive()) co_return Result<void>{};
    // Of a create that was cut off, or of one that has ended.
    if (auto removed = remove_locked(settings, place); !removed) co_return removed;
    const auto anew = place.lock();
    if (!anew) co_return fail(anew.error());
    auto made = co_await make(settings, place, spec);
    if (made) co_return made;
    (void)remove_locked(settings, place);
    co_return made;
}

Task<Result<json>> exec(const Settings& settings, domain::SandboxId id, ExecRequest request) {
    const Place place(settings, id);
    if (!place.is_ready()) co_return fail(Code::not_found, "there is no such sandbox here");
    const auto executor = co_await asio::this_coro::executor;
    Session session(executor, place);
    session.name(request.operation);
    asio::signal_set signals(executor, SIGUSR1, SIGTERM);
    auto& link = session.link();
    signals.async_wait([&](boost::system::error_code error, int) {
        if (!error) link.cancel(request.operation);
    });
    if (auto open = co_await link.wait_open(in(kGuestTime)); !open) co_return fail(std::move(open.error()));
    auto result = co_await link.exec(request.operation, request.command, request.max_output_bytes);
    signals.cancel();
    if (!result) co_return fail(std::move(result.error()));
    json answer(result->output);
    answer["error"] = result->error ? json(*result->error) : json();
    co_return answer;
}

Result<void> cancel(const Settings& settings, domain::SandboxId id, domain::OperationId operation) {
    const auto path = Place(settings, id).file("session");
    const FileDescriptor session(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    struct flock holder{};
    holder.l_type = F_WRLCK;
    const bool held = session && ::fcntl(session.get(), F_GETLK, &holder) == 0 && holder.l_type != F_UNLCK;
    std::array<char, 36> name{};
    const auto count = held ? ::pread(session.get(), name.data(), name.size(), 0) : 0;
    const bool is_it =
        count == static_cast<ssize_t>(name.size()) && operation.text() == std::string_view(name.data(), name.size());
    if (!is_it || ::kill(holder.l_pid, SIGUSR1) != 0) return fail(Code::not_found, "that command does not run here");
    return {};
}

Result<void> remove(const Settings& settings, domain::SandboxId id) {
    const Place place(settings, id);
    const auto lock = place.lock();
    if (!lock) return fail(lock.error());
    return remove_locked(settings, place);
}

Result<std::vector<domain::SandboxId>> list(const Settings& settings) {
    std::vector<domain::SandboxId> ids;
    for (const auto& place : all_places(settings)) {
        if (place.is_ready() && place.is_alive()) {
            ids.push_back(place.id());
        } else if (!place.is_ready()) {
            // Nobody is at it any more: a create that was cut off.
            if (const auto lock = place.try_lock(); lock && !place.is_ready())
                if (auto removed = remove_locked(settings, place); !removed) return fail(std::move(removed.error()));
        }
    }
    return ids;
}

}  // namespace sandbox::driver_runc
