#include <algorithm>
#include <iterator>
#include <libpq-fe.h>
#include <memory>

#include <spdlog/fmt/fmt.h>

#include <sandbox/http/url.hpp>

#include "checks.hpp"

// Addresses are read here as the start reads them, so that what is checked also starts. None of them is ever repeated:
// someone may have put a password into it.
namespace sandbox::config {
namespace {

struct FreeOptions {
    void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};
using Options = std::unique_ptr<PQconninfoOption, FreeOptions>;

/// libpq itself looks at the value only when it connects.
constexpr std::string_view kSslModes[] = {"disable", "allow", "prefer", "require", "verify-ca", "verify-full"};

/// nullptr when libpq can't read it. Its own words may repeat the URL.
Options parse(const std::string& url) {
    char* problem = nullptr;
    Options options(PQconninfoParse(url.c_str(), &problem));
    PQfreemem(problem);
    return options;
}

/// "" when it is not given.
std::string_view value_of(const Options& options, std::string_view keyword) {
    for (const auto* option = options.get(); option->keyword != nullptr; ++option)
        if (option->keyword == keyword && option->val != nullptr) return option->val;
    return "";
}

/// A password with a bare @ or / is taken apart at the wrong place: its rest becomes a host or a port, which logs name.
bool is_taken_apart_wrongly(std::string_view url, const Options& options) {
    const auto begin = url.find("://") + 3;
    const auto authority = url.substr(begin, url.find_first_of("/?", begin) - begin);
    return std::ranges::count(authority, '@') > 1 ||
           value_of(options, "port").find_first_not_of("0123456789,") != std::string_view::npos;
}

}  // namespace

Result<void> check_database_url(const Config& config, const Settings& settings) {
    const auto& url = config.store.database_url.reveal();
    const auto what = named("store.database_url", settings);
    const auto options = parse(url);
    if (!options || is_taken_apart_wrongly(url, options))
        return fail(Code::invalid_argument,
                    fmt::format("{}: must look like "
                                "postgres://user:password@host:5432/database?sslmode=verify-full, with parameters that "
                                "libpq knows and reserved characters of the password percent-encoded",
                                what));
    const auto mode = value_of(options, "sslmode");
    if (!mode.empty() && std::ranges::find(kSslModes, mode) == std::end(kSslModes))
        return fail(Code::invalid_argument,
                    fmt::format("{}: its sslmode must be one of {}", what, fmt::join(kSslModes, ", ")));
    return {};
}

Result<void> check_url(std::string_view path, std::string_view url, const Settings& settings) {
    if (auto parsed = http::Url::parse(url); !parsed)
        return fail(Code::invalid_argument, fmt::format("{}: {}", named(path, settings), parsed.error().message()));
    return {};
}

}  // namespace sandbox::config
