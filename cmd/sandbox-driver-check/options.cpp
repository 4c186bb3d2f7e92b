#include "options.hpp"

#include <algorithm>
#include <span>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <sandbox/base/version.hpp>

#include "report.hpp"

namespace sandbox::driver_check {

namespace {

/// What is wrong with them; empty when nothing is.
std::string problem_of(const Options& options) {
    const auto checks = all_checks();
    for (const auto& name : options.only)
        if (std::ranges::find(checks, name, &Check::name) == checks.end())
            return "there is no check named " + name + " (see --list)";
    return options.driver.starts_with('/') ? "" : "DRIVER must be an absolute path (see --help)";
}

std::nullopt_t refuse(const Options& options, const std::string& why, int& status) {
    Report report(options);
    report.fail(why);
    status = report.finish();
    return std::nullopt;
}

}  // namespace

std::vector<Check> all_checks() {
    std::vector<Check> checks;
    for (const auto& group : {life_checks(), exec_checks(), limit_checks(), crash_checks()})
        checks.insert(checks.end(), group.begin(), group.end());
    return checks;
}

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
        "Exit status 0: all that is required holds; 1: it does not; 2: it could not be tried; 128 + n: ended by signal "
        "n, once what it made was deleted.\n\nExample: sandbox-driver-check /usr/local/libexec/my-driver --image "
        "sandbox-base-busybox:local");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) {
            status = app.exit(error);
            return std::nullopt;
        }
        // What stands before the fault is not in the options yet.
        const std::span words(argv, static_cast<std::size_t>(argc));
        options.as_json = std::ranges::find(words, std::string_view("--json")) != words.end();
        return refuse(options, fmt::format("{} (see --help)", error.what()), status);
    }
    if (version) fmt::print("{}\n", version_line("sandbox-driver-check"));
    if (options.list) print_checks(options.as_json);
    if (version || options.list) return std::nullopt;
    if (const auto problem = problem_of(options); !problem.empty()) return refuse(options, problem, status);
    return options;
}

}  // namespace sandbox::driver_check
