#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include <sandbox/domain/node.hpp>

#include "checks.hpp"
#include "options.hpp"

namespace sandbox::driver_check {

/// What is told on standard output: a table, line by line, or at the end one document.
class Report {
public:
    explicit Report(const Options& options);

    void tell_of(const domain::RuntimeInfo& driver);
    void add(const Check& check, const Verdict& verdict);
    /// Not everything could be looked at; also said on standard error, at once.
    void fail(const std::string& why);
    /// The exit status.
    [[nodiscard]] int finish();

private:
    const Options& options_;
    nlohmann::json document_;
    bool holds_ = true;
    std::string not_judged_;  // names of required checks
};

void print_checks(bool as_json);

/// A line on standard error.
void complain(const std::string& what);

}  // namespace sandbox::driver_check
