#include <libpq-fe.h>
#include <map>
#include <memory>

#include "postgres/connection.hpp"

namespace sandbox::store::postgres {

namespace {

// Seconds; libpq takes no fewer than 2.
constexpr const char* kConnectTimeout = "2";

/// What every session keeps, on the server's side: nothing waits for long, and nothing stays behind a client that is
/// gone. Statement and lock end before kAnswerWithin, so that the server's own word is the answer. Plans are made once:
/// statements look up by key, and to plan one takes longer than to carry it out.
constexpr const char* kSessionOptions =
    "-c statement_timeout=3500 -c lock_timeout=3000 -c idle_in_transaction_session_timeout=5000 "
    "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=3 -c tcp_keepalives_count=3 -c tcp_user_timeout=10000 "
    "-c timezone=UTC -c datestyle=ISO -c search_path=sandbox -c jit=off -c plan_cache_mode=force_generic_plan -c "
    "standard_conforming_strings=on "
    "-c default_transaction_isolation=read\\ committed -c client_min_messages=warning";

std::string conninfo_value(std::string_view text) {
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'' || c == '\\') out += '\\';
        out += c;
    }
    return out + "'";
}

struct FreeOptions {
    void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};

std::string value_or(const std::map<std::string, std::string>& values, const std::string& key, std::string otherwise) {
    const auto found = values.find(key);
    return found == values.end() ? std::move(otherwise) : found->second;
}

std::string describe(const std::map<std::string, std::string>& values) {
    const auto host = value_or(values, "host", value_or(values, "hostaddr", "the local socket"));
    const auto port = value_or(values, "port", "5432");
    const auto user = value_or(values, "user", "");
    return host + ":" + port + ", database " + value_or(values, "dbname", user.empty() ? "of the user" : user);
}

}  // namespace

Result<Access> Access::from(const Secret& url) {
    char* problem = nullptr;
    const std::unique_ptr<PQconninfoOption, FreeOptions> options(PQconninfoParse(url.reveal().c_str(), &problem));
    if (!options) {
        // libpq's own words may repeat the URL.
        PQfreemem(problem);
        return fail(Code::invalid_argument,
                    "store.database_url can't be read: it must look like "
                    "postgres://user:password@host:5432/database?sslmode=verify-full, with reserved characters of the "
                    "password percent-encoded");
    }
    std::map<std::string, std::string> values{{"connect_timeout", kConnectTimeout},
                                              {"tcp_user_timeout", "10000"},  // ms
                                              {"keepalives_idle", "10"},
                                              {"keepalives_interval", "3"},
                                              {"keepalives_count", "3"},
                                              {"application_name", "sandboxd"}};
    for (const auto* option = options.get(); option->keyword != nullptr; ++option)
        if (option->val != nullptr) values[option->keyword] = option->val;
    values["client_encoding"] = "UTF8";

    Access access;
    for (const char* key : {"password", "sslpassword"})
        if (const auto found = values.find(key); found != values.end() && !found->second.empty())
            access.secrets.push_back(found->second);
    access.secrets.push_back(url.reveal());
    access.description = access.censored(describe(values));
    auto& settings = values["options"];
    settings = settings.empty() ? kSessionOptions : settings + " " + kSessionOptions;
    for (const auto& [key, value] : values) access.conninfo += key + "=" + conninfo_value(value) + " ";
    return access;
}

std::string Access::censored(std::string text) const {
    for (const auto& secret : secrets) {
        for (auto at = text.find(secret); at != std::string::npos; at = text.find(secret, at + 3))
            text.replace(at, secret.size(), "***");
    }
    return text;
}

}  // namespace sandbox::store::postgres
