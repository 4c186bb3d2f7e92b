// What a command gives and gets: output, input, environment, exit status, each byte for byte and in time.
#include <fstream>
#include <numeric>
#include <sstream>
#include <sys/resource.h>
#include <thread>

#include <gtest/gtest.h>

#include "host.hpp"

namespace sandbox::guest::test {
namespace {

using namespace std::chrono_literals;

class Exec : public testing::Test {
protected:
    Sandbox sandbox;
    Host host{sandbox};
};

std::string lines(int from, int to) {
    std::ostringstream text;
    for (int i = from; i <= to; ++i) text << i << '\n';
    return text.str();
}

TEST_F(Exec, reports_output_and_status) {
    const auto run = host.shell("echo out; echo err >&2; exit 7");

    EXPECT_TRUE(run.started);
    EXPECT_EQ(run.exited, Exited{.code = 7});
    EXPECT_EQ(run.output, "out\n");
    EXPECT_EQ(run.error, "err\n");
}

TEST_F(Exec, reports_the_signal_that_ended_it) {
    const auto run = host.shell("kill -TERM $$");

    EXPECT_EQ(run.exited, Exited{.signal = 15});
    EXPECT_EQ(run.code(), 143);
}

TEST_F(Exec, runs_as_the_images_user_in_the_workspace) {
    EXPECT_EQ(host.hello.uid, 1000U);
    EXPECT_TRUE(host.hello.workspace_writable);
    EXPECT_EQ(host.shell("id -u; id -g; pwd; umask; touch f && ls").output, "1000\n1000\n/workspace\n0022\nf\n");
}

// Its own session, no controlling terminal, nothing open but the three streams, no signal blocked or ignored.
TEST_F(Exec, starts_clean) {
    const auto run =
        host.shell("ls /proc/self/fd | tr '\\n' ' '; grep -E '^Sig(Blk|Ign)' /proc/self/status; ulimit -n");
    rlimit mine{};
    getrlimit(RLIMIT_NOFILE, &mine);

    EXPECT_TRUE(run.output.starts_with("0 1 2 3 ")) << run.output;  // 3 is ls reading the directory
    EXPECT_NE(run.output.find("SigBlk:\t0000000000000000"), std::string::npos) << run.output;
    EXPECT_NE(run.output.find("SigIgn:\t0000000000000000"), std::string::npos) << run.output;
    EXPECT_TRUE(run.output.ends_with(std::to_string(mine.rlim_cur) + '\n')) << run.output;
    EXPECT_EQ(host.shell("test $(ps -o sid= -p $$) -eq $$ && echo own").output, "own\n");
}

// Sockets between a virtual machine and its host know no network namespace; what makes sockets past a filter goes too.
TEST_F(Exec, has_no_way_around_its_network) {
    const auto perl = [&](const std::string& program) {
        return host.finish(host.start({"perl", "-e", program})).error;
    };
    EXPECT_EQ(perl("socket(my $s, 40, 1, 0) or die \"$!\\n\""), "Address family not supported by protocol\n");
    // io_uring_setup; without the filter these arguments are a "Bad address", or refused otherwise.
    EXPECT_EQ(perl("syscall(425, 1, 0) >= 0 or die \"$!\\n\""), "Function not implemented\n");
    EXPECT_EQ(perl("socket(my $s, 2, 1, 0) or die \"$!\\n\"; socket($s, 1, 1, 0) or die \"$!\\n\""), "");
}

// A child that holds the pipes does not hold up the answer, and lives on; also when it writes afterwards.
TEST_F(Exec, ends_with_its_main_process_and_leaves_what_it_left_running) {
    const auto run = host.shell("sleep 300 & echo hi");

    EXPECT_EQ(run.output, "hi\n");
    EXPECT_EQ(run.code(), 0);
    EXPECT_LT(run.took, 1s);
    EXPECT_EQ(sandbox.commands(), std::vector<std::string>{"sleep 300 "});
}

TEST_F(Exec, a_server_left_running_survives_its_own_log_lines) {
    host.shell("while sleep 0.05; do echo still there; echo and here >&2; date > /workspace/beat; done & exit 0");
    std::this_thread::sleep_for(500ms);
    host.shell("rm -f /workspace/beat");

    EXPECT_TRUE(host.wait([&] { return exists(sandbox.inside("/workspace/beat")); }, 2s));
}

// One that writes as fast as it can costs the guest next to nothing, and the others their speed neither.
TEST_F(Exec, a_loud_process_left_running_is_cheap) {
    host.shell("yes & exit 0");
    const auto before = sandbox.cpu_seconds();
    std::this_thread::sleep_for(1s);

    EXPECT_LT(sandbox.cpu_seconds() - before, 0.2);
    EXPECT_EQ(host.shell("echo hi").output, "hi\n");
}

// The 200 ms after the main process: a pipeline's last words still come.
TEST_F(Exec, output_of_a_helper_that_ends_a_little_later_is_there) {
    const auto run = host.shell("(sleep 0.05; echo last words) & echo first");
    EXPECT_EQ(run.output, "first\nlast words\n");
}

TEST_F(Exec, passes_all_of_a_long_output) {
    const auto run = host.shell("seq 1 300000; echo FINAL");

    EXPECT_EQ(run.output, lines(1, 300000) + "FINAL\n");
    EXPECT_EQ(run.code(), 0);
}

// Only the amount that was granted comes, the rest waits, and none of it is lost when the command has ended meanwhile.
TEST_F(Exec, output_waits_for_credit) {
    const auto id = host.start_shell("head -c 300000 /dev/zero; echo end");
    host.exec(id).grant = false;
    ASSERT_TRUE(host.wait([&] { return host.exec(id).output_bytes == Host::kWindow; }));
    EXPECT_FALSE(host.wait([&] { return host.exec(id).output_bytes > Host::kWindow || host.exec(id).done(); }, 500ms));

    host.exec(id).grant = true;
    host.grant(id, Stream::output, 10);
    EXPECT_EQ(host.finish(id).output_bytes, 300004U);
    EXPECT_EQ(host.exec(id).code(), 0);
}

// Credit that was used to the last byte: the end shows without any more.
TEST_F(Exec, exact_credit_is_enough) {
    const auto id = host.start_shell("head -c " + std::to_string(Host::kWindow) + " /dev/zero");
    host.exec(id).grant = false;

    EXPECT_EQ(host.finish(id).output_bytes, std::uint64_t{Host::kWindow});
    EXPECT_LT(host.exec(id).took, 1s);
}

TEST_F(Exec, a_stalled_exec_stalls_nobody_else) {
    const auto loud = host.start_shell("yes");
    host.exec(loud).grant = false;
    ASSERT_TRUE(host.wait([&] { return host.exec(loud).output_bytes == Host::kWindow; }));

    EXPECT_EQ(host.shell("seq 1 100000 | tail -1").output, "100000\n");
}

TEST_F(Exec, without_input_it_is_at_its_end_at_once) {
    const auto run = host.run({"cat"});

    EXPECT_EQ(run.code(), 0);
    EXPECT_EQ(run.output, "");
    EXPECT_LT(run.took, 1s);
}

TEST_F(Exec, input_arrives_byte_for_byte) {
    std::string input(5 * 1024 * 1024, '\0');
    std::iota(input.begin(), input.end(), '\0');

    auto run = host.run({"cat"}, {}, input);
    EXPECT_EQ(run.output_bytes, input.size());
    EXPECT_EQ(run.output, input.substr(0, Host::kKept));

    const auto digest = host.run({"sha256sum"}, {}, input).output;
    std::ofstream(sandbox.inside("/workspace/same"), std::ios::binary) << input;
    EXPECT_EQ(digest.substr(0, 64), host.run({"sha256sum", "same"}).output.substr(0, 64));
}

TEST_F(Exec, a_command_that_does_not_read_its_input_does_not_hang) {
    const std::string input(5 * 1024 * 1024, 'x');

    const auto ignores = host.run({"true"}, {}, input);
    EXPECT_EQ(ignores.code(), 0);
    EXPECT_LT(ignores.took, 1s);
    EXPECT_EQ(host.shell("exec 0<&-; sleep 0.3; echo done").output, "done\n");
    EXPECT_EQ(host.run({"sh", "-c", "exec 0<&-; sleep 0.3; echo done"}, {}, input).output, "done\n");
    EXPECT_EQ(host.run({"sh", "-c", "sleep 0.3; echo done"}, {}, input).output, "done\n");
    EXPECT_EQ(host.run({"head", "-c", "3"}, {}, input).output, "xxx");
}

TEST_F(Exec, environment_is_the_sandboxes_and_its_own) {
    const auto run = host.run({"env"}, {.env = {"TWO=line one\nline two", "HOME=/tmp", "EMPTY=", "ODD=a=b $(x) *"}});

    EXPECT_NE(run.output.find("SANDBOX_ID=test\n"), std::string::npos);
    EXPECT_NE(run.output.find("TWO=line one\nline two\n"), std::string::npos);
    EXPECT_NE(run.output.find("HOME=/tmp\n"), std::string::npos);
    EXPECT_NE(run.output.find("EMPTY=\n"), std::string::npos);
    EXPECT_NE(run.output.find("ODD=a=b $(x) *\n"), std::string::npos);
    EXPECT_EQ(run.output.find("HOME=/workspace"), std::string::npos);
}

TEST_F(Exec, arguments_arrive_byte_for_byte) {
    const std::string longest(131'071, 'x');
    const auto run = host.run({"printf", "%s|", "", "a\nb", "$(x)", "*", "\xff\x01", longest});

    EXPECT_EQ(run.output, "|a\nb|$(x)|*|\xff\x01|" + longest + '|');
}

// A value of env stands in no command line, at no time.
TEST_F(Exec, environment_is_in_no_command_line) {
    const auto id = host.start({"sleep", "1"}, {.env = {"TOKEN=s3cr3t-value-1"}});
    ASSERT_TRUE(host.wait([&] { return host.exec(id).started; }));

    for (const auto& line : sandbox.processes()) EXPECT_EQ(line.find("s3cr3t"), std::string::npos);
}

TEST_F(Exec, runs_in_the_given_directory) {
    EXPECT_EQ(host.run({"pwd"}, {.cwd = "/usr"}).output, "/usr\n");
    EXPECT_EQ(host.run({"./sub/tool"}, {.cwd = "/workspace"}).code(), 127);
    host.shell("mkdir sub && printf '#!/bin/sh\\necho here' > sub/tool && chmod +x sub/tool");
    EXPECT_EQ(host.run({"./sub/tool"}, {.cwd = "/workspace"}).output, "here\n");
}

// The path is the command's own, and where it has none the usual one.
TEST_F(Exec, finds_programs_by_the_path_of_its_environment) {
    host.shell("mkdir -p a b && printf '#!/bin/sh\\necho b' > b/tool && chmod +x b/tool && touch a/tool");

    EXPECT_EQ(host.run({"tool"}, {.env = {"PATH=/workspace/a:/workspace/b"}}).output, "b\n");
    EXPECT_EQ(host.run({"tool"}).code(), 127);
    EXPECT_EQ(host.run({"true"}, {.env = {"PATH="}}).code(), 0);
}

TEST_F(Exec, home_directories_below_the_workspace_are_made) {
    const Start options{
        .env = {"HOME=/workspace/home/me", "XDG_CACHE_HOME=/workspace/c", "XDG_DATA_HOME=/workspace/../x"}};

    EXPECT_EQ(host.run({"sh", "-c", "cd && pwd; ls -d /workspace/c"}, options).output,
              "/workspace/home/me\n/workspace/c\n");
    EXPECT_FALSE(exists(sandbox.inside("/x")));
}

TEST_F(Exec, sixty_four_run_side_by_side_and_one_more_is_told) {
    std::vector<std::uint64_t> ids;
    for (std::size_t i = 0; i < kMaxExecs; ++i)
        ids.push_back(host.start({"sh", "-c", "cat; echo " + std::to_string(i)}, {.input = true}));
    for (const auto id : ids) ASSERT_TRUE(host.wait([&] { return host.exec(id).started; }));

    EXPECT_EQ(host.run({"true"}).failed->kind, Failure::busy);
    for (const auto id : ids) host.send(FrameType::end_of_input, id);
    for (std::size_t i = 0; i < kMaxExecs; ++i) {
        const auto run = host.finish(ids[i]);
        EXPECT_EQ(run.output, std::to_string(i) + '\n');
        EXPECT_EQ(run.code(), 0);
    }
    EXPECT_EQ(host.run({"true"}).code(), 0);
}

// Many short ones at once: no status goes to the wrong one.
TEST_F(Exec, every_status_goes_to_its_own_exec) {
    for (int round = 0; round < 5; ++round) {
        std::vector<std::uint64_t> ids;
        for (int i = 0; i < 60; ++i) ids.push_back(host.start_shell("exit " + std::to_string(i)));
        for (int i = 0; i < 60; ++i) EXPECT_EQ(host.finish(ids[static_cast<std::size_t>(i)]).code(), i);
    }
}

// Twenty loud ones at once, all counted right, while the guest's memory stays what it was.
TEST_F(Exec, many_loud_ones_need_no_memory) {
    std::vector<std::uint64_t> ids;
    for (int i = 0; i < 20; ++i) ids.push_back(host.start_shell("head -c 8388608 /dev/zero"));
    for (const auto id : ids) EXPECT_EQ(host.finish(id).output_bytes, 8388608U);

    EXPECT_LT(sandbox.memory_kib(), 4096U);
}

constexpr std::uint32_t kKeep = 1024 * 1024;

std::string numbers(int from, int to) {
    std::string text;
    for (int i = from; i <= to; ++i) text += std::to_string(i) + '\n';
    return text;
}

// A host that keeps the first and the last half gets those exactly, the true count, and little else.
TEST_F(Exec, what_the_host_does_not_keep_is_skipped) {
    const auto run = host.shell("seq 1 9000000", {.keep = kKeep});

    ASSERT_EQ(run.code(), 0);
    EXPECT_EQ(run.output_bytes + run.skipped, 70'888'896U);
    EXPECT_GT(run.skipped, 0U);
    EXPECT_EQ(run.output.substr(0, kKeep / 2), numbers(1, 200'000).substr(0, kKeep / 2));
    ASSERT_GE(run.after_skip.size(), kKeep / 2);
    const auto end = numbers(8'500'000, 9'000'000);
    EXPECT_EQ(run.after_skip.substr(run.after_skip.size() - kKeep / 2), end.substr(end.size() - kKeep / 2));
}

TEST_F(Exec, what_fits_is_never_skipped) {
    const auto run = host.shell("seq 1 150000", {.keep = kKeep});

    EXPECT_EQ(run.skipped, 0U);
    EXPECT_EQ(run.output, numbers(1, 150'000));
}

// A host that takes nothing: the command ends all the same, and its last words are there once there is credit.
TEST_F(Exec, a_loud_one_does_not_wait_for_its_host) {
    const auto id = host.start_shell("seq 1 2000000; touch /workspace/done; sleep 60", {.keep = kKeep});
    host.exec(id).grant = false;
    ASSERT_TRUE(host.wait([&] { return host.exec(id).output_bytes == Host::kWindow; }));
    host.grant(id, Stream::output, kKeep / 2);  // the first half has come then, and nothing more is taken
    ASSERT_TRUE(host.wait([&] { return host.exec(id).output_bytes == Host::kWindow + kKeep / 2; }));
    EXPECT_EQ(host.shell("for i in $(seq 1 1000); do [ -e /workspace/done ] && exit; sleep 0.01; done; exit 1").code(),
              0);

    host.grant(id, Stream::output, 2 * kKeep);
    ASSERT_TRUE(host.wait([&] { return host.exec(id).after_skip.ends_with("\n2000000\n"); }));
    EXPECT_EQ(host.exec(id).output_bytes + host.exec(id).skipped, 14'888'896U);
    host.kill(id);
    host.finish(id);
}

// After a burst, what comes slowly comes at once again, and nothing of it is missing.
TEST_F(Exec, what_comes_after_a_burst_is_whole) {
    const auto run = host.shell("seq 1 2000000; for i in 1 2 3 4 5; do sleep 0.2; echo slow $i; done", {.keep = kKeep});

    EXPECT_GT(run.skipped, 0U);
    EXPECT_TRUE(run.after_skip.ends_with("\n2000000\nslow 1\nslow 2\nslow 3\nslow 4\nslow 5\n"));
    EXPECT_EQ(run.output_bytes + run.skipped, 14'888'896U + 35);
}

// What is held back is bounded for all together; those past it wait for credit, as without `keep`.
TEST_F(Exec, many_loud_ones_hold_little_back) {
    std::vector<std::uint64_t> ids;
    for (int i = 0; i < 40; ++i) ids.push_back(host.start_shell("head -c 20000000 /dev/zero", {.keep = kKeep}));
    for (const auto id : ids) {
        const auto run = host.finish(id);
        EXPECT_EQ(run.output_bytes + run.skipped, 20'000'000U);
        EXPECT_LT(sandbox.memory_kib(), 14U * 1024);
    }
}

// Stopped at its limit, the last that it wrote is there.
TEST_F(Exec, the_last_words_of_a_loud_one_that_was_stopped_are_there) {
    const auto run = host.shell("seq 1 2000000; echo LAST; sleep 60", {.time_limit_ms = 3000, .keep = kKeep});

    EXPECT_TRUE(run.exited->timed_out);
    EXPECT_TRUE(run.after_skip.ends_with("\nLAST\n"));
    EXPECT_EQ(run.output_bytes + run.skipped, 14'888'896U + 5);
}

// The bench measures it; this only catches a fall to a crawl.
TEST_F(Exec, a_hundred_megabytes_pass_quickly) {
    const auto run = host.shell("head -c 100000000 /dev/zero");

    EXPECT_EQ(run.output_bytes, 100'000'000U);
    std::printf("100 MB in %lld ms\n", static_cast<long long>(run.took.count()));
    EXPECT_LT(run.took, 20s);
}

// An image with one static program, no shell, no /tmp, no passwd, as user 65534.
TEST(BareImage, runs_its_one_program) {
    Sandbox sandbox({.uid = 65534, .files = std::vector<std::filesystem::path>{"/bin/busybox"}});
    Host host(sandbox);

    EXPECT_EQ(host.hello.uid, 65534U);
    EXPECT_EQ(host.run({"/busybox", "echo", "hi"}).output, "hi\n");
    EXPECT_EQ(host.run({"/busybox", "touch", "/workspace/f"}).code(), 0);
    EXPECT_EQ(host.run({"sh"}).code(), 127);
}

}  // namespace
}  // namespace sandbox::guest::test
