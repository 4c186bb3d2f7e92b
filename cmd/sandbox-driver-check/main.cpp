// sandbox-driver-check: tries an external driver against its contract (docs/runtime-driver.md), as a worker would use
// it, and says what holds.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sandbox/base/json_reader.hpp>
#include <sandbox/base/log.hpp>
#include <sandbox/base/version.hpp>
#include <sandbox/runtime/external.hpp>

#include "checks.hpp"
#include "driver_kill.hpp"

namespace sandbox::driver_check {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Options {
    std::string driver;
    std::string image = "sandbox-base-busybox:local";
    std::string state_dir;
    std::vector<std::string> only;
    bool as_json = false;
    bool verbose = false;
    bool list = false;
};

std::vector<Check> all_checks() {
    std::vector<Check> checks;
    for (const auto& group : {life_checks(), exec_checks(), limit_checks(), crash_checks()})
        checks.insert(checks.end(), group.begin(), group.end());
    return checks;
}

/// nullopt when the program has nothing more to do; `status` is then its exit status.
std::optional<Options> parse(int argc, char** argv, int& status) {
    Options options;
    bool version = false;
    CLI::App app{"Tries a runtime driver against its contract, docs/runtime-driver.md, as a worker would use it.",
                 "sandbox-driver-check"};
    app.add_option("DRIVER", options.driver, "absolute path of the driver");
    app.add_option("--image", options.image, "image with a shell and the usual small tools")->capture_default_str();
    app.add_option("--state-dir", options.state_dir, "given to the driver as SANDBOX_STATE_DIR; default: a new one")
        ->type_name("DIR");
    // One word each time, so that the word behind it is the driver.
    app.add_option("--only", options.only, "these checks only, comma separated (see --list); may be repeated")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->type_name("CHECKS");
    app.add_flag("--list", options.list, "print what is checked, and exit");
    app.add_flag("--json", options.as_json, "print one JSON document instead of a table");
    app.add_flag("--verbose", options.verbose, "show the driver's standard error as well");
    app.add_flag("--version", version, "print version and commit");
    app.footer(
        "Exit status 0: all that is required holds; 1: it does not; 2: it could not be tried.\n\nExample: "
        "sandbox-driver-check /usr/local/libexec/my-driver --image sandbox-base-busybox:local");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        status = error.get_exit_code() == 0 ? app.exit(error) : 2;
        if (status == 2) fmt::print(stderr, "sandbox-driver-check: {} (see --help)\n", error.what());
        return std::nullopt;
    }
    if (version) fmt::print("{}\n", version_line("sandbox-driver-check"));
    const auto checks = all_checks();
    if (options.list)
        for (const auto& check : checks)
            fmt::print("{:<22} {:<9} {}\n", check.name, check.required ? "required" : "optional", check.promise);
    if (version || options.list) return std::nullopt;
    std::string wrong;
    if (!options.driver.starts_with('/')) wrong = "DRIVER must be an absolute path (see --help)";
    for (const auto& name : options.only)
        if (std::ranges::find(checks, name, &Check::name) == checks.end())
            wrong = "there is no check named " + name + " (see --list)";
    if (wrong.empty()) return options;
    fmt::print(stderr, "sandbox-driver-check: {}\n", wrong);
    status = 2;
    return std::nullopt;
}

/// Beside this program, or where it is installed.
std::string find_launcher() {
    std::error_code error;
    const auto here = fs::read_symlink("/proc/self/exe", error).parent_path();
    const auto installed = here.parent_path() / "libexec/sandbox/sandbox-driver-run";
    const auto beside = here / "sandbox-driver-run";
    return fs::exists(beside, error) ? beside : installed;
}

std::string_view text_of(Verdict::Held held) {
    switch (held) {
        case Verdict::Held::yes:
            return "holds";
        case Verdict::Held::no:
            return "BROKEN";
        case Verdict::Held::not_offered:
            break;
    }
    return "-";
}

class Report {
public:
    explicit Report(const Options& options) : options_(options) {}

    void begin(const runtime::Capabilities& capabilities) {
        document_["driver"] = options_.driver;
        document_["name"] = capabilities.info.name;
        document_["version"] = capabilities.info.version;
        document_["checks"] = json::array();
        if (!options_.as_json)
            fmt::print("{:<22} {:<9} {:<7} {:>8}  {}\n", "CHECK", "NEED", "RESULT", "TIME", "DETAIL");
    }
    void add(const Check& check, const Verdict& verdict) {
        if (check.required && verdict.held != Verdict::Held::yes) holds_ = false;
        json entry{{"name", check.name},
                   {"promise", check.promise},
                   {"required", check.required},
                   {"detail", verdict.detail},
                   {"took_ms", verdict.took.count()}};
        entry["holds"] = verdict.held == Verdict::Held::not_offered ? json() : json(verdict.held == Verdict::Held::yes);
        document_["checks"].push_back(std::move(entry));
        if (options_.as_json) return;
        const auto& detail = verdict.held == Verdict::Held::no
                                 ? verdict.detail + " (" + std::string(check.promise) + ")"
                                 : verdict.detail;
        fmt::print("{:<22} {:<9} {:<7} {:>5} ms  {}\n", check.name, check.required ? "required" : "optional",
                   text_of(verdict.held), verdict.took.count(), detail);
        (void)std::fflush(stdout);
    }
    [[nodiscard]] int finish() {
        document_["holds"] = holds_;
        if (options_.as_json)
            fmt::print("{}\n", dump_json_pretty(document_));
        else
            fmt::print("\n{}\n", holds_ ? "All that is required holds." : "Not all that is required holds.");
        return holds_ ? 0 : 1;
    }

private:
    const Options& options_;
    json document_;
    bool holds_ = true;
};

bool is_wanted(const Options& options, const Check& check) {
    return options.only.empty() || std::ranges::find(options.only, check.name) != options.only.end();
}

Task<int> look(asio::any_io_executor executor, runtime::Runtime& runtime, const Options& options) {
    auto capabilities = co_await runtime.probe(in(std::chrono::seconds(20)));
    if (!capabilities) {
        fmt::print(stderr, "sandbox-driver-check: {}\n", capabilities.error().message());
        co_return 1;
    }
    Report report(options);
    report.begin(*capabilities);
    Kit::Settings settings{.image = options.image, .kill_driver = [&options](std::string_view action) {
                               return kill_driver_run(options.driver, action);
                           }};
    Kit kit(executor, runtime, std::move(*capabilities), std::move(settings));
    for (const auto& check : all_checks())
        if (is_wanted(options, check)) report.add(check, co_await look_at(kit, check));
    co_return report.finish();
}

int run(const Options& options) {
    asio::io_context io(1);
    runtime::ExternalSettings settings;
    settings.driver = options.driver;
    settings.launcher = find_launcher();
    settings.state_dir = options.state_dir;
    settings.node_name = "driver-check";
    const auto runtime = runtime::create_external_runtime(io.get_executor(), std::move(settings));
    int status = 2;
    auto all = [](asio::any_io_executor executor, runtime::Runtime& of_runtime, const Options& with) -> Task<int> {
        const int ended = co_await look(executor, of_runtime, with);
        co_await of_runtime.stop(in(std::chrono::seconds(5)));
        co_return ended;
    };
    asio::co_spawn(io, all(io.get_executor(), *runtime, options), [&](const std::exception_ptr& failure, int ended) {
        if (failure) std::rethrow_exception(failure);
        status = ended;
    });
    io.run();
    return status;
}

}  // namespace
}  // namespace sandbox::driver_check

int main(int argc, char** argv) {
    using namespace sandbox;
    (void)std::signal(SIGPIPE, SIG_IGN);
    int status = 0;
    auto options = driver_check::parse(argc, argv, status);
    if (!options) return status;
    log::configure(options->verbose ? log::Level::info : log::Level::error, log::Format::text);
    std::string made;
    if (options->state_dir.empty()) {
        made = driver_check::fs::temp_directory_path() / "sandbox-driver-check.XXXXXX";
        if (::mkdtemp(made.data()) == nullptr) {
            std::perror("sandbox-driver-check: a state directory");
            return 2;
        }
        options->state_dir = made;
    }
    try {
        status = driver_check::run(*options);
    } catch (const std::exception& error) {
        fmt::print(stderr, "sandbox-driver-check: {}\n", error.what());
        status = 2;
    }
    std::error_code ignored;
    if (!made.empty()) driver_check::fs::remove_all(made, ignored);
    return status;
}
