#include "run.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <fmt/format.h>

#include "driver_kill.hpp"
#include "host_view.hpp"

namespace sandbox::driver_check {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

constexpr auto kProbeTime = 20s;
constexpr auto kStopTime = 5s;  // SIGTERM, its grace time, SIGKILL
/// `timeout` signals the process and at once its group: both are one wish to end.
constexpr auto kSameSignalTime = 1s;
constexpr int kBySignal = 128;

/// Beside this program, or where it is installed.
Result<std::string> find_launcher() {
    std::error_code error;
    const auto here = fs::read_symlink("/proc/self/exe", error).parent_path();
    const auto beside = here / "sandbox-driver-run";
    const auto installed = here.parent_path() / "libexec/sandbox/sandbox-driver-run";
    for (const auto& place : {beside, installed})
        if (fs::exists(place, error)) return place.string();
    return fail(Code::unavailable, fmt::format("there is no sandbox-driver-run program at {} and none at {}",
                                               beside.string(), installed.string()));
}

bool is_ignored(int number) {
    struct sigaction action{};
    return ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

bool is_wanted(const Options& options, const Check& check) {
    return options.only.empty() || std::ranges::find(options.only, check.name) != options.only.end();
}

}  // namespace

Run::Run(const Options& options) : options_(options), report_(options_), signals_(io_, SIGTERM, SIGINT) {
    // A hangup that nohup had ignored stays so.
    if (!is_ignored(SIGHUP)) signals_.add(SIGHUP);
}

int Run::to_end() {
    await_signal();
    auto launcher = find_launcher();
    if (!launcher) report_.fail(launcher.error().message());
    if (!launcher || !make_state_dir()) return report_.finish();
    launcher_ = std::move(*launcher);
    runtime_ = make_runtime();
    asio::co_spawn(io_, all(), [this](const std::exception_ptr& failure) {
        signals_.cancel();
        if (!failure) return;
        all_deleted_ = false;
        try {
            std::rethrow_exception(failure);
        } catch (const std::exception& error) {
            report_.fail(error.what());
        }
    });
    io_.run();
    remove_state_dir();
    const int status = report_.finish();
    return signal_ ? kBySignal + *signal_ : status;
}

// ---- the state directory ----

bool Run::make_state_dir() {
    if (!options_.state_dir.empty()) return true;
    std::error_code error;
    const auto temporary = fs::temp_directory_path(error);
    auto pattern = (temporary / "sandbox-driver-check.XXXXXX").string();
    if (error || ::mkdtemp(pattern.data()) == nullptr) {
        const auto why = error ? "TMPDIR: " + error.message() : pattern + ": " + std::strerror(errno);
        report_.fail("no directory for the driver's state can be made: " + why);
        return false;
    }
    made_dir_ = fs::canonical(pattern, error);
    if (error) made_dir_ = pattern;
    options_.state_dir = made_dir_;
    // For who must clean up when this process is killed.
    complain("the state directory is " + made_dir_);
    return true;
}

void Run::remove_state_dir() {
    if (made_dir_.empty()) return;
    // What is mounted there may be anything of the host's.
    const auto mounts = mounts_with(made_dir_);
    for (const auto& mount : mounts) complain("the driver left a mount: " + mount);
    std::error_code error;
    if (all_deleted_ && mounts.empty()) fs::remove_all(made_dir_, error);
    if (fs::exists(made_dir_)) complain("the state directory is left: " + made_dir_);
}

// ---- signals ----

void Run::await_signal() {
    signals_.async_wait([this](const boost::system::error_code& error, int number) {
        if (error) return;
        if (!signal_)
            take_signal(number);
        else if (since(signalled_at_) >= kSameSignalTime)
            leave_at_once(number);
        await_signal();
    });
}

/// What runs is stopped; the check under way fails of it, and all() goes on to the end.
void Run::take_signal(int number) {
    signal_ = number;
    signalled_at_ = Clock::now();
    report_.fail(fmt::format("interrupted by SIG{}", ::sigabbrev_np(number)));
    complain("what was made is being deleted; another signal leaves at once");
    if (kit_) kit_->interrupt();
    asio::co_spawn(io_, runtime_->stop(in(kStopTime)), [](const std::exception_ptr&) {});
}

void Run::leave_at_once(int number) {
    if (kit_)
        for (const auto& id : kit_->not_deleted()) complain(fmt::format("the sandbox {} may be left", id.text()));
    if (!made_dir_.empty()) complain("the state directory is left: " + made_dir_);
    ::_exit(kBySignal + number);
}

// ---- the driver ----

std::unique_ptr<runtime::DriverRuntime> Run::make_runtime() {
    runtime::ExternalSettings settings;
    settings.driver = options_.driver;
    settings.launcher = launcher_;
    settings.state_dir = options_.state_dir;
    settings.node_name = "driver-check";
    return runtime::create_external_runtime(io_.get_executor(), std::move(settings));
}

Task<void> Run::all() {
    try {
        co_await look();
    } catch (const Interrupted&) {
        // take_signal() has said so.
    } catch (const std::exception& error) {
        report_.fail(error.what());
    }
    co_await runtime_->stop(in(kStopTime));
    co_await clean_up();
}

Task<void> Run::look() {
    const auto begun = Clock::now();
    auto capabilities = co_await runtime_->probe(in(kProbeTime));
    if (signal_) co_return;
    if (!capabilities) {
        take_failed_probe(capabilities.error(), since(begun));
        co_return;
    }
    report_.tell_of(capabilities->info);
    Kit::Settings settings{
        .image = options_.image,
        .driver = runtime_.get(),
        .is_alone = !made_dir_.empty(),
        .kill_driver = [this](std::string_view action) { return kill_driver_run(options_.driver, action); }};
    kit_ = std::make_unique<Kit>(io_.get_executor(), *runtime_, std::move(*capabilities), std::move(settings));
    for (const auto& check : all_checks()) {
        if (!is_wanted(options_, check)) continue;
        const auto verdict = co_await look_at(*kit_, check);
        // What it saw of a driver that was stopped says nothing.
        if (signal_) co_return;
        report_.add(check, verdict);
    }
}

/// A driver that runs and does not answer breaks its contract. One that does not run was not tried.
void Run::take_failed_probe(const Error& error, std::chrono::milliseconds took) {
    const auto& message = error.message();
    const bool has_run =
        message.starts_with("driver probe: ") && message.find(options_.driver + " can't be run: ") == std::string::npos;
    if (!has_run) return report_.fail(message);
    const auto checks = all_checks();
    report_.add(*std::ranges::find(checks, "probe", &Check::name),
                {.held = Verdict::Held::no, .detail = message, .took = took});
}

/// What no check has deleted. The runtime has been stopped, so another one asks for it.
Task<void> Run::clean_up() {
    if (!kit_) co_return;
    const auto ids = kit_->not_deleted();
    const auto runtime = make_runtime();
    std::vector<Task<Result<void>>> deletes;
    for (const auto& id : ids) deletes.push_back(runtime->destroy(id));
    const auto ends = co_await driver_check::all(std::move(deletes));
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (ends[i]) continue;
        all_deleted_ = false;
        complain(fmt::format("the sandbox {} could not be deleted: {}", ids[i].text(), ends[i].error().message()));
    }
    co_await runtime->stop(in(kStopTime));
    // Of sandboxes that could not be deleted too: their next delete finds less to do.
    for (const auto& process : co_await end_processes_with(kit_->word_of_all(), in(Kit::kGoneTime)))
        complain(fmt::format("process {} was still there after the deletes and was killed: {}", process.pid,
                             process.command_line));
}

}  // namespace sandbox::driver_check
