#include <memory>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "../execution.hpp"
#include "../files.hpp"
#include "../key_values.hpp"
#include "../operations.hpp"
#include "commands.hpp"

namespace sandbox::cli {
namespace {

/// More than any server takes unless its exec_body_limit_bytes (16 MiB) was raised.
constexpr std::size_t kStdinLimit = 64UL * 1024 * 1024;

struct ExecOptions {
    std::string id;
    std::string cwd;
    std::int64_t timeout = 300;
    std::vector<std::string> env;
    bool send_stdin = false;
    bool no_wait = false;
};

Task<Outcome> exec(Session& session, std::string given, domain::Command command, bool no_wait) {
    auto client = session.client();
    if (!client) co_return pass_on(client);
    auto id = co_await resolve_sandbox(**client, std::move(given));
    if (!id) co_return pass_on(id);
    auto operation = co_await request_exec(session, **client, *id, command);
    if (!operation) co_return pass_on(operation);

    auto& output = session.output();
    if (no_wait) {
        if (output.json())
            output.document(*operation);
        else
            output.out(operation->id.text() + "\n");
        output.closing_note("follow it with `sandbox wait " + operation->id.text() + "`");
        co_return kDone;
    }
    auto ended = co_await wait_for_exec(session, **client, std::move(*operation), command.timeout_seconds);
    if (!ended) co_return pass_on(ended);
    co_return show_result(output, *ended);
}

domain::Command command_of(const ExecOptions& options, const std::optional<Argv>& argv) {
    domain::Command command;
    if (!argv || argv->empty())
        throw CLI::ValidationError("exec needs a command after the ID: sandbox exec ID -- ls -l");
    command.argv = value_or_refuse(checked_argv(*argv));
    if (!options.cwd.empty()) command.cwd = options.cwd;
    command.env = value_or_refuse(read_key_values("--env", options.env));
    command.timeout_seconds = options.timeout;
    return command;
}

Task<Outcome> refuse_stdin(Error error) {
    co_return failure("stdin", std::move(error).in("standard input").message());
}

}  // namespace

void add_exec(CommandLine& line) {
    auto options = std::make_shared<ExecOptions>();
    auto& command = line.add(
        line.root(), "exec", "Run a command in a sandbox; its output and exit status become ours",
        {"sandbox exec 9f1c2ab3 -- uname -a", "sandbox exec 9f1c2ab3 --timeout 60 --cwd /workspace/app -- make test",
         "sandbox exec 9f1c2ab3 --stdin -- tar -xz -C /workspace < source.tar.gz",
         "sandbox exec 9f1c2ab3 --env LANG=C -- sh -c 'sort names | uniq -c'"});
    command.add_option("ID", options->id, "The sandbox's id, or six or more characters of its beginning or end")
        ->type_name("")
        ->required();
    command.add_option("--cwd", options->cwd, "Working directory (/workspace)")->type_name("DIR");
    command.add_option("--timeout", options->timeout, "Seconds until the command and all it started are killed")
        ->type_name("S")
        ->capture_default_str();
    add_repeated(command, "--env", options->env, "An environment variable; may be repeated", "K=V");
    command.add_flag("--stdin", options->send_stdin, "Send this command's standard input, to its end");
    command.add_flag("--no-wait", options->no_wait, "Print the operation's id and return");
    line.takes_argv(command, ArgvStart::after_first_word, "[--] ARGV...");
    line.on_chosen(command, [&line, options]() -> Action {
        auto asked = command_of(*options, line.argv());
        // Read to its end before the io thread runs and signals are ours: until then Ctrl-C just ends this program.
        if (options->send_stdin) {
            auto bytes = read_to_end(STDIN_FILENO, kStdinLimit);
            if (!bytes) return [error = bytes.error()](Session&) { return refuse_stdin(error); };
            asked.stdin_bytes = std::move(*bytes);
        }
        return [asked = std::move(asked), options](Session& session) {
            return exec(session, options->id, asked, options->no_wait);
        };
    });
}

}  // namespace sandbox::cli
