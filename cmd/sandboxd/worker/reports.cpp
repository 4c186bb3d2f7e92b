#include "reports.hpp"

#include <algorithm>
#include <utility>

#include <sandbox/base/log.hpp>
#include <sandbox/base/text.hpp>
#include <sandbox/runtime/output_capture.hpp>

#include "backoff.hpp"

namespace sandbox::sandboxd {
namespace {

constexpr auto kAnswerWithin = std::chrono::seconds(30);
constexpr std::size_t kBigBytes = 256 * 1024;
// Of less, the line about what is missing would be most.
constexpr std::size_t kWorthCutting = 1024;

bool is_big(const domain::Completion& completion) {
    return completion.output &&
           completion.output->stdout_text.size() + completion.output->stderr_text.size() > kBigBytes;
}

void cut_stream(std::string& text, std::optional<std::string>& base64, std::size_t limit) {
    if (text.size() <= limit) return;
    const auto exact = base64 ? base64_decode(*base64) : std::nullopt;
    runtime::OutputCapture capture(limit);
    capture.append(exact ? *exact : text);
    auto kept = std::move(capture).finish();
    text = std::move(kept.text);
    base64 = std::move(kept.base64);
}

/// Makes it a failure without any text of the sandbox's. False when it is that already.
bool make_plain(domain::Completion& completion) {
    constexpr std::string_view kUnreadable = "the controller could not read the worker's report";
    if (completion.error == kUnreadable) return false;
    completion.success = false;
    completion.error = kUnreadable;
    completion.startup.reset();
    if (completion.output) completion.output = domain::Output{.exit_code = completion.output->exit_code};
    return true;
}

}  // namespace

bool cut_output(domain::Output& output) {
    const auto most = std::max(output.stdout_text.size(), output.stderr_text.size());
    if (most == 0) return false;
    output.truncated = true;
    if (most < kWorthCutting) {
        output.stdout_text.clear();
        output.stderr_text.clear();
        output.stdout_base64.reset();
        output.stderr_base64.reset();
        return true;
    }
    cut_stream(output.stdout_text, output.stdout_base64, most / 2);
    cut_stream(output.stderr_text, output.stderr_base64, most / 2);
    return true;
}

Reports::Reports(client::WorkerClient& client, Random& random) : client_(client), random_(random) {}

Task<void> Reports::report(JobPtr job, domain::Completion completion) {
    const auto kind = job->kind();
    if (before_capacity_changes && (kind == domain::OperationKind::create || kind == domain::OperationKind::destroy))
        co_await before_capacity_changes();

    Backoff backoff(random_);
    while (true) {
        completion.attempt = job->assignment.attempt;
        const auto answer = co_await send(completion);
        if (answer) {
            // Leased again while this was on its way: the acknowledgement was for an attempt that no longer counts.
            if (completion.attempt == job->assignment.attempt) co_return;
            continue;
        }
        const auto next = after(answer.error(), completion);
        if (next == Next::settled) co_return;
        if (next == Next::later) co_await changed_.wait(in(backoff.next()));
    }
}

Task<client::Answer<void>> Reports::send(const domain::Completion& completion) {
    if (!is_big(completion)) co_return co_await client_.complete(completion, in(kAnswerWithin));

    while (big_one_under_way_) co_await changed_.wait(Deadline::max());
    struct Turn {
        Reports& reports;
        explicit Turn(Reports& r) : reports(r) { reports.big_one_under_way_ = true; }
        ~Turn() {
            reports.big_one_under_way_ = false;
            reports.changed_.notify_all();
        }
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;
    };
    const Turn turn(*this);
    co_return co_await client_.complete(completion, in(kAnswerWithin));
}

/// What to do about a report that was not taken; may make it smaller.
Reports::Next Reports::after(const client::Failure& failure, domain::Completion& completion) const {
    const auto note = [&](log::Level level, std::string_view what) {
        log::write(level, what,
                   {{"operation_id", completion.operation_id.text()},
                    {"status", std::to_string(failure.status)},
                    {"error", failure.error.message()}});
    };
    switch (failure.status) {
        case 404:
        case 409:
            note(log::Level::info, "the controller does not want this report; it is settled there");
            return Next::settled;
        case 413:
            if (completion.output && cut_output(*completion.output)) {
                note(log::Level::warn, "the report is too large for the controller; cutting its output further");
                return Next::again;
            }
            [[fallthrough]];
        case 400:
        case 422:
            if (make_plain(completion)) {
                note(log::Level::error, "the controller can't read this report; reporting a failure in its place");
                return Next::again;
            }
            note(log::Level::error, "the controller can't read any report of this; giving it up");
            return Next::settled;
        default:
            note(log::Level::debug, "the report was not taken; trying again");
            return Next::later;
    }
}

}  // namespace sandbox::sandboxd
