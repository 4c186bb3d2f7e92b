#include "host_view.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>
#include <unistd.h>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "process_tree.hpp"

namespace sandbox::driver_check {

namespace {

using namespace std::chrono_literals;

/// A file of a process; empty when it has ended, also between the open and the read.
std::string text_of(pid_t pid, std::string_view name) {
    std::ifstream file(fmt::format("/proc/{}/{}", pid, name), std::ios::binary);
    std::ostringstream text;
    // The stream catches what a failed read throws; iterators do not.
    text << file.rdbuf();
    return std::move(text).str();
}

/// As the kernel writes paths: a space is \040.
std::string unescaped(std::string_view text) {
    constexpr std::size_t kDigits = 3;
    const auto is_octal = [](char c) { return c >= '0' && c <= '7'; };
    std::string plain;
    while (!text.empty()) {
        const auto digits = text.substr(1, kDigits);
        if (text.front() == '\\' && digits.size() == kDigits && std::ranges::all_of(digits, is_octal)) {
            int value = 0;
            for (const char digit : digits) value = value * 8 + (digit - '0');
            plain.push_back(static_cast<char>(value));
            text.remove_prefix(1 + kDigits);
        } else {
            plain.push_back(text.front());
            text.remove_prefix(1);
        }
    }
    return plain;
}

}  // namespace

std::string command_line_of(pid_t pid) {
    return text_of(pid, "cmdline");
}

std::vector<SeenProcess> processes_with(std::string_view text) {
    std::vector<SeenProcess> found;
    for (const auto& process : guest::list_processes()) {
        auto line = command_line_of(process.pid);
        if (line.find(text) == std::string::npos && text_of(process.pid, "environ").find(text) == std::string::npos)
            continue;
        std::ranges::replace(line, '\0', ' ');
        found.push_back({.pid = process.pid, .command_line = std::move(line)});
    }
    return found;
}

Task<std::vector<SeenProcess>> end_processes_with(std::string text, Deadline deadline) {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    auto found = processes_with(text);
    while (!found.empty() && std::chrono::steady_clock::now() < deadline) {
        timer.expires_after(20ms);
        co_await timer.async_wait(asio::use_awaitable);
        found = processes_with(text);
    }
    for (const auto& process : found) ::kill(process.pid, SIGKILL);
    co_return found;
}

double spare_cpu_seconds() {
    std::ifstream file("/proc/stat");
    std::string name;
    double user = 0;
    double nice = 0;
    double system = 0;
    double idle = 0;
    double waiting = 0;  // for disks: nobody wanted the processor
    file >> name >> user >> nice >> system >> idle >> waiting;
    return (idle + waiting) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::vector<std::string> mounts_with(std::string_view text) {
    std::vector<std::string> points;
    std::ifstream file("/proc/self/mountinfo");
    for (std::string line; std::getline(file, line);) {
        if (unescaped(line).find(text) == std::string::npos) continue;
        std::istringstream fields(line);
        std::string point;
        constexpr int kPoint = 5;
        for (int field = 0; field < kPoint; ++field) fields >> point;
        points.push_back(unescaped(point));
    }
    return points;
}

}  // namespace sandbox::driver_check
