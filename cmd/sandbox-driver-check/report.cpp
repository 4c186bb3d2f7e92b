#include "report.hpp"

#include <cstdio>
#include <string_view>

#include <fmt/format.h>

#include <sandbox/base/json_reader.hpp>

namespace sandbox::driver_check {

using nlohmann::json;

namespace {

std::string_view text_of(Verdict::Held held) {
    switch (held) {
        case Verdict::Held::yes:
            return "holds";
        case Verdict::Held::no:
            return "BROKEN";
        case Verdict::Held::not_judged:
            return "unknown";
        case Verdict::Held::not_offered:
            break;
    }
    return "-";
}

std::string_view need_of(const Check& check) {
    return check.required ? "required" : "optional";
}

json describe(const Check& check) {
    return {{"name", check.name}, {"promise", check.promise}, {"required", check.required}};
}

}  // namespace

Report::Report(const Options& options)
    : options_(options), document_{{"driver", options.driver}, {"name", nullptr},  {"version", nullptr},
                                   {"checks", json::array()},  {"holds", nullptr}, {"error", nullptr}} {}

void Report::tell_of(const domain::RuntimeInfo& driver) {
    document_["name"] = driver.name;
    document_["version"] = driver.version;
}

void Report::add(const Check& check, const Verdict& verdict) {
    if (!options_.as_json && document_["checks"].empty())
        fmt::print("{:<22} {:<9} {:<7} {:>8}  {}\n", "CHECK", "NEED", "RESULT", "TIME", "DETAIL");
    const bool is_judged = verdict.held != Verdict::Held::not_judged;
    if (check.required && !is_judged) not_judged_ += fmt::format("{}{}", not_judged_.empty() ? "" : ", ", check.name);
    if (check.required && is_judged && verdict.held != Verdict::Held::yes) holds_ = false;
    auto entry = describe(check);
    entry["detail"] = verdict.detail;
    entry["took_ms"] = verdict.took.count();
    entry["holds"] = verdict.held == Verdict::Held::yes || verdict.held == Verdict::Held::no
                         ? json(verdict.held == Verdict::Held::yes)
                         : json();
    document_["checks"].push_back(std::move(entry));
    if (options_.as_json) return;
    const auto& detail =
        verdict.held == Verdict::Held::no ? verdict.detail + " (" + std::string(check.promise) + ")" : verdict.detail;
    fmt::print("{:<22} {:<9} {:<7} {:>5} ms  {}\n", check.name, need_of(check), text_of(verdict.held),
               verdict.took.count(), detail);
    (void)std::fflush(stdout);
}

void Report::fail(const std::string& why) {
    document_["error"] = why;
    complain(why);
}

int Report::finish() {
    // Of a driver that is broken anyway, the answer is known.
    if (holds_ && document_["error"].is_null() && !not_judged_.empty()) fail("could not be judged: " + not_judged_);
    const bool tried = document_["error"].is_null();
    if (tried) document_["holds"] = holds_;
    if (options_.as_json)
        fmt::print("{}\n", dump_json_pretty(document_));
    else if (tried)
        fmt::print("\n{}\n", holds_ ? "All that is required holds." : "Not all that is required holds.");
    if (!tried) return kNotTried;
    return holds_ ? kHolds : kDoesNotHold;
}

void print_checks(bool as_json) {
    auto document = json::array();
    for (const auto& check : all_checks()) {
        document.push_back(describe(check));
        if (!as_json) fmt::print("{:<22} {:<9} {}\n", check.name, need_of(check), check.promise);
    }
    if (as_json) fmt::print("{}\n", dump_json_pretty(json{{"checks", std::move(document)}}));
}

void complain(const std::string& what) {
    fmt::print(stderr, "sandbox-driver-check: {}\n", what);
}

}  // namespace sandbox::driver_check
