// What a command is given, and what is reported of it.
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>

#include <fmt/format.h>

#include <sandbox/base/text.hpp>

#include "checks.hpp"

namespace sandbox::driver_check {

namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kTimedOut = 124;
constexpr std::int64_t kCannotRun = 126;
constexpr std::int64_t kNotFound = 127;
constexpr std::int64_t kBySignal = 128;

void expect_exit(const runtime::ExecResult& result, std::int64_t code, std::string_view what) {
    expect(result.output.exit_code == code, fmt::format("{}: {}, not {}", what, describe(result), code));
}

void expect_output(const runtime::ExecResult& result, std::string_view text, std::string_view what) {
    constexpr std::size_t kShown = 200;
    if (result.output.stdout_text == text) return;
    auto wanted = shortened(text, kShown);
    std::ranges::replace(wanted, '\n', ' ');
    throw Broken(fmt::format("{}: {}; the output should be \"{}\"", what, describe(result), wanted));
}

Task<std::string> tells_exit_codes(Kit& kit) {
    const auto id = co_await kit.create();
    expect_exit(co_await kit.exec(id, command({"true"})), 0, "true");
    expect_exit(co_await kit.sh(id, "exit 7"), 7, "exit 7");
    expect_exit(co_await kit.sh(id, "exit 255"), 255, "exit 255");
    expect_exit(co_await kit.sh(id, "kill -TERM $$"), kBySignal + SIGTERM, "ended by SIGTERM");
    const auto missing = co_await kit.exec(id, command({"no-such-program"}));
    expect_exit(missing, kNotFound, "a program that is not there");
    expect_exit(co_await kit.exec(id, command({"/tmp"})), kCannotRun, "a directory as the program");
    auto nowhere = command({"true"});
    nowhere.cwd = "/no/such/directory";
    expect_exit(co_await kit.exec(id, nowhere), kCannotRun, "a working directory that is not there");
    co_return missing.error.value_or("126 and 127 come without an error that says why");
}

Task<std::string> keeps_the_streams_apart(Kit& kit) {
    const auto id = co_await kit.create();
    const auto both = co_await kit.sh(id, "echo out; echo err >&2; exit 1");
    expect(both.output.stdout_text == "out\n" && both.output.stderr_text == "err\n", describe(both));
    expect(!both.output.truncated, "short output is said to be truncated");
    co_return "";
}

Task<std::string> passes_arguments(Kit& kit) {
    const auto id = co_await kit.create();
    const std::vector<std::string> odd{"", " ", "a\nb", "$(id)", "*", "'\"", "\\", "--", "-n", "é", "\t", "%s"};
    auto all_of_them = command({"sh", "-c", "for a in \"$@\"; do printf '<%s>' \"$a\"; done", "sh"});
    std::string expected;
    for (const auto& argument : odd) {
        all_of_them.argv.push_back(argument);
        expected += "<" + argument + ">";
    }
    expect_output(co_await kit.exec(id, all_of_them), expected, "arguments came otherwise");
    constexpr std::size_t kLongest = 131'071;  // the kernel's limit, with its end
    auto longest = command({"sh", "-c", "printf %s \"$1\" | wc -c", "sh", std::string(kLongest, 'x')});
    const auto length = co_await kit.exec(id, longest);
    expect(length.output.stdout_text.find("131071") != std::string::npos,
           "one argument of 131071 bytes: " + describe(length));
    co_return fmt::format("{} odd ones, and one of {} bytes", odd.size(), kLongest);
}

Task<std::string> passes_the_environment(Kit& kit) {
    auto spec = kit.spec();
    spec.env = {{"OF_SANDBOX", "one\ntwo"}, {"BOTH", "sandbox"}};
    const auto id = co_await kit.create(std::move(spec));
    auto prints = shell("printf '%s|%s|%s|%s' \"$OF_SANDBOX\" \"$OF_COMMAND\" \"$BOTH\" \"$SANDBOX_ID\"");
    prints.env = {{"OF_COMMAND", "a=$(id)*\n"}, {"BOTH", "command"}};
    const auto printed = co_await kit.exec(id, prints);
    expect(!printed.output.stdout_text.ends_with('|'), "SANDBOX_ID is not in a command's environment");
    expect_output(printed, fmt::format("one\ntwo|a=$(id)*\n|command|{}", id.text()),
                  "OF_SANDBOX|OF_COMMAND|BOTH|SANDBOX_ID came otherwise");
    co_return "";
}

Task<std::string> knows_its_directory(Kit& kit) {
    const auto id = co_await kit.create();
    co_await kit.sh(id, "mkdir -p 'a b/c'; echo here > 'a b/c/f'");
    auto below = command({"cat", "f"});
    below.cwd = "/workspace/a b/c";
    expect_output(co_await kit.exec(id, below), "here\n", "cwd is not where the command runs");
    co_return "";
}

/// The result of a command that reads to the end of its input, which must come.
Task<runtime::ExecResult> read_to_end(Kit& kit, domain::SandboxId id, domain::Command command, std::string_view what) {
    const auto limit = command.timeout_seconds;
    auto result = co_await kit.try_exec(id, std::move(command));
    const bool hung = result ? result->output.timed_out : result.error().code() == Code::deadline_exceeded;
    expect(!hung, fmt::format("{}: the command was not told the end of its standard input in {} s", what, limit));
    expect(result);
    co_return std::move(*result);
}

Task<std::string> gives_input(Kit& kit) {
    constexpr int kSeconds = 20;
    const auto id = co_await kit.create();
    auto cat = command({"cat"}, kSeconds);
    expect_output(co_await read_to_end(kit, id, cat, "without input"), "", "without input, cat");
    cat.stdin_bytes = "text\nwithout end";
    expect_output(co_await read_to_end(kit, id, cat, "with input"), *cat.stdin_bytes, "input came otherwise");
    auto bytes = command({"od", "-An", "-tx1"}, kSeconds);
    bytes.stdin_bytes = std::string("\xFF\0\n\x80", 4);
    const auto dump = co_await read_to_end(kit, id, bytes, "with stdin_base64");
    expect(dump.output.stdout_text.find("ff 00 0a 80") != std::string::npos, "bytes came otherwise: " + describe(dump));
    auto count = shell("cat | wc -c");
    count.stdin_bytes = std::string(5 * 1024 * 1024, 'x');
    const auto counted = co_await read_to_end(kit, id, count, "5 MiB of input");
    expect(counted.output.stdout_text.find("5242880") != std::string::npos, "5 MiB of input: " + describe(counted));
    count.argv = {"true"};
    expect_exit(co_await kit.exec(id, count), 0, "a command that does not read its 5 MiB of input");
    co_return "text, bytes, 5 MiB, none";
}

Task<std::string> cuts_long_output(Kit& kit) {
    const auto id = co_await kit.create();
    const auto whole = co_await kit.sh(id, "head -c 1048576 /dev/zero | tr '\\0' x");
    expect(whole.output.stdout_text == std::string(Kit::kOutputLimit, 'x') && !whole.output.truncated,
           fmt::format("output of exactly the limit came as {} bytes", whole.output.stdout_text.size()));
    const auto begun = Clock::now();
    const auto cut = co_await kit.sh(id, "echo FIRST; head -c 10485760 /dev/zero | tr '\\0' x; echo; echo LAST");
    const auto& text = cut.output.stdout_text;
    expect(cut.output.truncated, "10 MiB are not said to be truncated: " + describe(cut));
    expect(text.size() <= Kit::kOutputLimit, fmt::format("{} bytes of output were kept", text.size()));
    expect(text.starts_with("FIRST\n") && text.ends_with("\nLAST\n"), "not both ends of long output were kept");
    // A worker cuts what is left too; an answer that was not cut at all is more than it reads.
    constexpr std::size_t kFew = 4096;
    const auto much = shell("head -c 1048576 /dev/zero | tr '\\0' x; head -c 1048576 /dev/zero | tr '\\0' x >&2");
    const auto little = co_await kit.runtime().exec(id, kit.new_operation(), much, kFew);
    expect(little.has_value(), little ? "" : "1 MiB of output with max_output_bytes 4096: " + little.error().message());
    expect(little->output.truncated, "1 MiB with max_output_bytes 4096 is not said to be truncated");
    constexpr std::int64_t kTotal = 10'485'760 + 12;
    const auto took = since(begun).count();
    co_return fmt::format("10 MiB in {} ms{}", took,
                          cut.output.stdout_bytes == kTotal ? "" : "; the true length is not told");
}

Task<std::string> keeps_bytes(Kit& kit) {
    const auto id = co_await kit.create();
    const auto bytes = co_await kit.sh(id, "printf 'a\\377b'");
    expect(bytes.output.stdout_text ==
               "a\xEF\xBF\xBD"
               "b",
           "a byte that is no UTF-8: " + describe(bytes));
    expect(bytes.output.stdout_base64 == "Yf9i", "the exact bytes are not in stdout_base64");
    co_return "";
}

Task<std::string> ends_at_the_time_limit(Kit& kit) {
    const auto id = co_await kit.create();
    const auto odd = kit.odd_number();
    const auto begun = Clock::now();
    const auto result = co_await kit.try_exec(
        id, shell(fmt::format("echo begun; setsid sleep {0} & (sleep {0} &) ; sleep {0}", odd), 1));
    const auto took = since(begun);
    const int left = result || co_await kit.works(id) ? co_await kit.count(id, "sleep " + odd) : 0;
    expect(left == 0, fmt::format("{} processes that the command had started live on after its time limit{}", left,
                                  result ? "" : ": " + result.error().message()));
    expect(result);
    const auto& ended = *result;
    expect_exit(ended, kTimedOut, "at the time limit");
    expect(ended.output.timed_out, "timed_out is not set");
    expect_output(ended, "begun\n", "the output up to the time limit is missing");
    expect(took < 20s, fmt::format("a limit of 1 s took {} ms", took.count()));
    co_return fmt::format("1 s took {} ms; nothing of it is left", took.count());
}

Task<std::string> leaves_what_was_meant_to_stay(Kit& kit) {
    const auto id = co_await kit.create();
    const auto odd = kit.odd_number();
    const auto begun = Clock::now();
    expect_output(co_await kit.sh(id, fmt::format("sleep {} & echo hi", odd)), "hi\n",
                  "with a child in the background");
    const auto took = since(begun);
    expect(took < 20s, fmt::format("the exec waited {} ms for what was left in the background", took.count()));
    expect(co_await kit.count(id, "sleep " + odd) == 1, "what was left in the background is gone");
    co_return fmt::format("{} ms", took.count());
}

Task<std::string> runs_side_by_side(Kit& kit) {
    const auto id = co_await kit.create();
    constexpr int kCommands = 8;
    // With turns, each would wait for the others for ever.
    const bool meets = kit.capabilities().concurrent_exec;
    std::vector<Task<Result<runtime::ExecResult>>> commands;
    for (int i = 0; i < kCommands; ++i) {
        const auto script = meets ? fmt::format(
                                        "echo > met.{0}; until [ $(ls | grep -c met) = {1} ]; do sleep 0.05; "
                                        "done; echo {0}",
                                        i, kCommands)
                                  : fmt::format("echo {}", i);
        commands.push_back(kit.try_exec(id, shell(script, 30)));
    }
    const auto results = co_await all(std::move(commands));
    for (int i = 0; i < kCommands; ++i) {
        const auto& result = results[static_cast<std::size_t>(i)];
        expect(result);
        expect_output(*result, fmt::format("{}\n", i), "one of several execs");
    }
    co_return fmt::format("{} of them, {}", kCommands, meets ? "side by side" : "in turn");
}

Task<std::string> cancels(Kit& kit) {
    const auto id = co_await kit.create();
    const auto odd = kit.odd_number();
    const auto operation = kit.new_operation();
    const auto long_one = shell(fmt::format("echo begun; setsid sleep {0} & sleep {0}", odd), 120);
    const auto running = co_await begin(kit.try_exec_as(operation, id, long_one));
    for (int attempt = 0; kit.capabilities().concurrent_exec && attempt < 100; ++attempt)
        if (co_await kit.count(id, "sleep " + odd) == 2) break;
    co_await kit.pause(300ms);
    const auto begun = Clock::now();
    const auto told = co_await kit.runtime().cancel(id, operation);
    expect(told);
    expect(co_await running.wait(in(20s)), "a cancelled exec goes on");
    const auto took = since(begun);
    // A worker stops the exec's run by itself 10 s after a cancel that went well and changed nothing.
    expect(took < 7s, fmt::format("cancel was answered with success and the exec went on for {} ms", took.count()));
    const auto& ended = **running.result;
    expect(ended);
    expect_exit(*ended, kBySignal + SIGKILL, "a cancelled exec");
    const int left = co_await kit.count(id, "sleep " + odd);
    expect(left == 0, fmt::format("{} processes of a cancelled exec are still there", left));
    co_return fmt::format("{} ms{}", took.count(),
                          ended->output.stdout_text == "begun\n" ? "" : "; its output is lost");
}

constexpr std::array kChecks{
    Check{"exec-status", true, "exit codes, signals, 126 and 127", tells_exit_codes},
    Check{"exec-streams", true, "standard output and error, apart", keeps_the_streams_apart},
    Check{"exec-argv", true, "arguments byte for byte, without a shell", passes_arguments},
    Check{"exec-env", true, "the sandbox's variables, the command's, SANDBOX_ID", passes_the_environment},
    Check{"exec-cwd", true, "/workspace, and cwd", knows_its_directory},
    Check{"exec-stdin", true, "input byte for byte and its end", gives_input},
    Check{"exec-output", true, "up to the limit whole, beyond it both ends", cuts_long_output},
    Check{"exec-bytes", false, "exact bytes of output that is not UTF-8", keeps_bytes},
    Check{"exec-time-limit", true, "the whole tree ends at the time limit", ends_at_the_time_limit},
    Check{"exec-background", true, "an exec ends with its main process, and what it left lives on",
          leaves_what_was_meant_to_stay},
    Check{"exec-parallel", true, "several execs in one sandbox at once", runs_side_by_side},
    Check{"cancel", true, "a cancelled exec ends soon, with its whole tree", cancels},
};

}  // namespace

std::span<const Check> exec_checks() {
    return kChecks;
}

}  // namespace sandbox::driver_check
