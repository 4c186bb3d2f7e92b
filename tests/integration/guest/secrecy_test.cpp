// A process of the sandbox can neither write into the guest's streams nor read what is meant for it.
#include <gtest/gtest.h>

#include "host.hpp"

namespace sandbox::guest::test {
namespace {

using namespace std::chrono_literals;

class Secrecy : public testing::TestWithParam<uid_t> {
protected:
    Sandbox sandbox{SandboxOptions{.uid = GetParam()}};
    Host host{sandbox};
};

INSTANTIATE_TEST_SUITE_P(Users, Secrecy, testing::Values(0, 1000, 65534));

// Every descriptor of the guest and of every supervisor, by every number, for writing and for reading.
TEST_P(Secrecy, nobody_opens_the_guests_streams) {
    (void)host.start({"cat"}, {.input = true});
    const auto run = host.shell(R"(
        for p in 1 $PPID $(ls /proc | grep -E '^[0-9]+$'); do
            case $(cat /proc/$p/comm 2>/dev/null) in sandbox-guest) ;; *) continue ;; esac
            for fd in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
                (printf 'forged' > /proc/$p/fd/$fd) 2>/dev/null && echo "wrote $p $fd"
                (head -c 1 < /proc/$p/fd/$fd) 2>/dev/null && echo "read $p $fd"
            done
            for f in mem environ maps; do (head -c 1 < /proc/$p/$f) 2>/dev/null && echo "read $p $f"; done
        done
        echo tried)");

    EXPECT_EQ(run.output, "tried\n");
    EXPECT_FALSE(host.fault);
    EXPECT_EQ(host.shell("echo hi").output, "hi\n");
}

// Nor by a debugger's means.
TEST_P(Secrecy, nobody_traces_the_guest) {
    const auto run = host.shell(
        "command -v gdb strace >/dev/null; cat /proc/1/syscall /proc/1/stack /proc/1/auxv; "
        "readlink /proc/1/exe /proc/1/root /proc/1/cwd; cat /proc/$PPID/mem | head -c 1; true");
    EXPECT_EQ(run.output, "");
}

}  // namespace
}  // namespace sandbox::guest::test
