#include "command_line.hpp"

#include <cstdio>
#include <cstring>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <sandbox/base/version.hpp>
#include <sandbox/config/config.hpp>

#include "wiring.hpp"

extern char** environ;

namespace sandbox::sandboxd {

static std::map<std::string, std::string> read_environment() {
    std::map<std::string, std::string> variables;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const char* equals = std::strchr(*entry, '=');
        if (equals) variables.emplace(std::string(*entry, static_cast<std::size_t>(equals - *entry)), equals + 1);
    }
    return variables;
}

struct Options {
    config::Sources sources;
    bool check_config = false;
    bool version = false;
};

/// nullopt when the program has nothing more to do; `status` is then its exit status.
static std::optional<Options> parse(int argc, char** argv, int& status) {
    Options options;
    std::string role;
    std::string config_file;
    CLI::App app{
        "The Sandbox daemon: controller, worker, or both. Settings come from sandbox.toml and from SANDBOX__… "
        "variables; docs/configuration.md lists them.",
        "sandboxd"};
    app.add_option("--role", role, "controller, worker or all (SANDBOX_ROLE; default all)")->type_name("ROLE");
    app.add_option("--config", config_file, "configuration file (SANDBOX_CONFIG; default sandbox.toml here, if there)")
        ->type_name("FILE");
    app.add_flag("--check-config", options.check_config, "check the configuration, print it with secrets masked, exit");
    app.add_flag("--dev", options.sources.dev,
                 "to try it out on one machine: loopback, memory store, no tokens, container isolation for every risk");
    app.add_flag("--version", options.version, "print version and commit");
    app.footer("Example: sandboxd --dev\n\nSIGTERM and SIGINT end it in order, SIGHUP reloads the TLS certificate.");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        status = error.get_exit_code() == 0 ? app.exit(error) : 2;
        if (status == 2) fmt::print(stderr, "sandboxd: {} (see sandboxd --help)\n", error.what());
        return std::nullopt;
    }
    if (!config_file.empty()) options.sources.config_file = config_file;
    if (!role.empty()) {
        for (const auto& [name, value] : config::kRoleNames)
            if (name == role) options.sources.role = value;
        if (!options.sources.role) {
            fmt::print(stderr, "sandboxd: --role must be controller, worker or all, not \"{}\"\n", role);
            status = 2;
            return std::nullopt;
        }
    }
    options.sources.environment = read_environment();
    return options;
}

int run(int argc, char** argv) {
    int status = 0;
    auto options = parse(argc, argv, status);
    if (!options) return status;
    if (options->version) {
        fmt::print("{}\n", version_line("sandboxd"));
        return 0;
    }
    auto loaded = config::load(options->sources);
    if (!loaded) {
        fmt::print(stderr, "sandboxd: {}\n", loaded.error().message());
        return 2;
    }
    if (options->check_config) {
        const auto text = config::describe(*loaded);
        const bool written = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
        return written ? 0 : 1;
    }
    const auto automatic = ::isatty(STDERR_FILENO) ? log::Format::text : log::Format::json;
    log::configure(loaded->log.level, loaded->log.format.value_or(automatic));
    return serve(*loaded);
}

}  // namespace sandbox::sandboxd
