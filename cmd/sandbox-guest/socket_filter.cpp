#include "socket_filter.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sandbox::guest {
namespace {

constexpr unsigned kIoUringSetup = 425;  // on every architecture
#if defined(__x86_64__)
constexpr unsigned kArch = AUDIT_ARCH_X86_64;
constexpr unsigned kNumberMask = ~0x40000000U;  // x32's mark
constexpr unsigned kCompatArch = AUDIT_ARCH_I386;
constexpr unsigned kCompatSocket = 359;
constexpr unsigned kCompatSocketcall = 102;  // its arguments are out of a filter's sight
#elif defined(__aarch64__)
constexpr unsigned kArch = AUDIT_ARCH_AARCH64;
constexpr unsigned kNumberMask = ~0U;
constexpr unsigned kCompatArch = AUDIT_ARCH_ARM;
constexpr unsigned kCompatSocket = 281;
constexpr unsigned kCompatSocketcall = 102;
#else
#error "say which system calls make sockets on this architecture"
#endif

constexpr sock_filter load(std::size_t offset) {
    return {.code = BPF_LD | BPF_W | BPF_ABS, .jt = 0, .jf = 0, .k = static_cast<unsigned>(offset)};
}
/// Where to go on: so many instructions further when equal, or not.
constexpr sock_filter if_equal(unsigned value, unsigned char yes, unsigned char no) {
    return {.code = BPF_JMP | BPF_JEQ | BPF_K, .jt = yes, .jf = no, .k = value};
}
constexpr sock_filter answer(unsigned action, unsigned error = 0) {
    return {.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = action | error};
}

}  // namespace

bool close_vsock() {
    std::array program{
        load(offsetof(seccomp_data, arch)),                         //  0
        if_equal(kArch, 0, 4),                                      //  1: other → 6
        load(offsetof(seccomp_data, nr)),                           //  2
        sock_filter{BPF_ALU | BPF_AND | BPF_K, 0, 0, kNumberMask},  //  3
        if_equal(kIoUringSetup, 10, 0),                             //  4: → 15
        if_equal(SYS_socket, 5, 7),                                 //  5: → 11, else 13
        if_equal(kCompatArch, 0, 6),                                //  6: else 13
        load(offsetof(seccomp_data, nr)),                           //  7
        if_equal(kIoUringSetup, 6, 0),                              //  8: → 15
        if_equal(kCompatSocketcall, 5, 0),                          //  9: → 15
        if_equal(kCompatSocket, 0, 2),                              // 10: else 13
        load(offsetof(seccomp_data, args)),                         // 11: the family
        if_equal(AF_VSOCK, 1, 0),                                   // 12: → 14
        answer(SECCOMP_RET_ALLOW),                                  // 13
        answer(SECCOMP_RET_ERRNO, EAFNOSUPPORT),                    // 14
        answer(SECCOMP_RET_ERRNO, ENOSYS),                          // 15
    };
    const sock_fprog filter{.len = program.size(), .filter = program.data()};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &filter) == 0;
}

}  // namespace sandbox::guest
