#include "kit.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <sandbox/async/clock.hpp>
#include <sandbox/base/text.hpp>

#include "host_view.hpp"

namespace sandbox::driver_check {

Kit::Kit(asio::any_io_executor executor, runtime::Runtime& runtime, runtime::Capabilities capabilities,
         Settings settings)
    : executor_(std::move(executor)),
      runtime_(runtime),
      capabilities_(std::move(capabilities)),
      settings_(std::move(settings)),
      word_of_all_(new_operation().text()) {}

bool Kit::has(std::string_view feature) const {
    return std::ranges::find(capabilities_.features, feature) != capabilities_.features.end();
}

domain::SandboxId Kit::new_id() {
    made_.push_back(domain::SandboxId::make(async::SystemClock().now(), random_));
    return made_.back();
}

domain::OperationId Kit::new_operation() {
    return domain::OperationId::make(async::SystemClock().now(), random_);
}

domain::SandboxSpec Kit::spec() const {
    domain::SandboxSpec spec;
    spec.tenant = "driver-check";
    spec.image = settings_.image;
    spec.resources = {.cpu_millis = 1000, .memory_mib = 128, .disk_mib = 64, .pids = 64};
    return spec;
}

Task<Result<void>> Kit::try_create(domain::SandboxId id, domain::SandboxSpec spec) {
    spec.env.emplace(kWordVariable, word());
    co_return co_await runtime_.create(id, spec, tier(), {});
}

Task<domain::SandboxId> Kit::create(domain::SandboxSpec spec) {
    const auto id = new_id();
    const auto created = co_await try_create(id, std::move(spec));
    expect(created);
    co_return id;
}

Task<Result<runtime::ExecResult>> Kit::try_exec_as(domain::OperationId operation, domain::SandboxId id,
                                                   domain::Command command) {
    co_return co_await runtime_.exec(id, operation, command, kOutputLimit);
}

Task<runtime::ExecResult> Kit::exec(domain::SandboxId id, domain::Command command) {
    auto result = co_await try_exec(id, std::move(command));
    expect(result);
    co_return std::move(*result);
}

Task<runtime::ExecResult> Kit::sh(domain::SandboxId id, std::string script) {
    co_return co_await exec(id, shell(std::move(script)));
}

Task<void> Kit::remove(domain::SandboxId id) {
    const auto removed = co_await runtime_.destroy(id);
    expect(removed);
}

Task<int> Kit::count(domain::SandboxId id, std::string command_line) {
    const auto script = fmt::format("(ps -eo args 2>/dev/null || ps -o args) | grep -c '^{}'", command_line);
    const auto result = co_await sh(id, script);
    std::string_view text = result.output.stdout_text;
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    int number = -1;
    std::from_chars(text.begin(), text.end(), number);
    expect(number >= 0, "its processes can't be counted: " + describe(result));
    co_return number;
}

Task<bool> Kit::works(domain::SandboxId id) {
    co_return (co_await try_exec(id, command({"true"}))).has_value();
}

Task<std::vector<domain::SandboxId>> Kit::listed() {
    if (!has("inventory")) throw NotOffered("does not list its sandboxes");
    const auto items = co_await runtime_.list(in(std::chrono::seconds(10)));
    expect(items);
    std::vector<domain::SandboxId> ids;
    for (const auto& item : *items) ids.push_back(item.sandbox_id);
    co_return ids;
}

Task<bool> Kit::lists(domain::SandboxId id) {
    if (!has("inventory")) co_return false;
    const auto ids = co_await listed();
    co_return std::ranges::find(ids, id) != ids.end();
}

Task<void> Kit::remove_all() {
    std::string wrong;
    while (!made_.empty()) {
        if (interrupted_) throw Interrupted();
        const auto removed = co_await runtime_.destroy(made_.back());
        if (!removed) {
            wrong = removed.error().message();
            not_deleted_.push_back(made_.back());
        }
        made_.pop_back();
    }
    expect(wrong.empty(), wrong);
}

Task<void> Kit::pause(std::chrono::milliseconds duration) const {
    asio::steady_timer timer(executor_, duration);
    co_await timer.async_wait(asio::use_awaitable);
    if (interrupted_) throw Interrupted();
}

std::string Kit::word() const {
    return fmt::format("{}/{}/", word_of_all_, check_number_);
}

Task<void> Kit::expect_nothing_runs() const {
    const auto left = co_await end_processes_with(word(), in(kGoneTime));
    if (left.empty()) co_return;
    constexpr std::size_t kShown = 100;
    throw Broken(fmt::format("{} of its processes are still there after its delete: {}", left.size(),
                             shortened(left.front().command_line, kShown)));
}

std::vector<domain::SandboxId> Kit::not_deleted() const {
    auto ids = not_deleted_;
    ids.insert(ids.end(), made_.begin(), made_.end());
    return ids;
}

std::string Kit::odd_number() {
    std::array<std::uint8_t, 4> bytes{};
    random_.fill(bytes);
    std::uint32_t number = 0;
    for (const auto byte : bytes) number = (number << 8U) | byte;
    constexpr std::uint32_t kLeast = 100'000;
    return std::to_string(kLeast + number % 800'000);
}

domain::Command command(std::vector<std::string> argv, std::int64_t timeout_seconds) {
    domain::Command command;
    command.argv = std::move(argv);
    command.timeout_seconds = timeout_seconds;
    return command;
}

domain::Command shell(std::string script, std::int64_t timeout_seconds) {
    return command({"sh", "-c", std::move(script)}, timeout_seconds);
}

std::string describe(const runtime::ExecResult& result) {
    constexpr std::size_t kShown = 100;
    auto text = fmt::format("exit status {}", result.output.exit_code);
    if (result.output.timed_out) text += ", at its time limit";
    if (result.error) text += ", \"" + shortened(*result.error, kShown) + "\"";
    text += ", output \"" + shortened(result.output.stdout_text, kShown) + "\"";
    if (!result.output.stderr_text.empty()) text += ", \"" + shortened(result.output.stderr_text, kShown) + "\"";
    std::ranges::replace(text, '\n', ' ');
    return text;
}

}  // namespace sandbox::driver_check
