#include <string>

#include <sandbox/base/log.hpp>

#include "postgres/migrations.hpp"

namespace sandbox::store::postgres {

namespace {

constexpr Statement kLookAround{"look_around", R"(
    select pg_catalog.current_setting('server_encoding'), pg_catalog.to_regclass('sandbox.migrations') is not null,
           pg_catalog.to_regnamespace('sandbox') is not null)"};
constexpr Statement kVersion{"version", "select coalesce(max(version), 0) from sandbox.migrations"};

/// One at a time: whoever starts beside us waits here, and then finds it done. Slow on purpose where tables are large.
constexpr const char* kBegin =
    "set local lock_timeout = '60s'; set local statement_timeout = '10min'; set local search_path = sandbox;"
    "select pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtext('sandbox migrations'), 0);";
constexpr const char* kSchema = "create schema if not exists sandbox;";
constexpr const char* kRegister =
    "create table if not exists sandbox.migrations (version integer primary key, name text not null, "
    "applied_at timestamptz not null default pg_catalog.now());";

/// The step, unless somebody else was faster: what they did is seen under the lock.
std::string guarded(const Migration& migration) {
    const auto version = std::to_string(migration.version);
    return "do $guard$ begin if not exists (select from sandbox.migrations where version = " + version +
           ") then execute $migration$" + migration.sql + "$migration$; insert into sandbox.migrations values (" +
           version + ", '" + migration.name + "'); end if; end $guard$;\n";
}

Result<int> current_version(Connection& connection) {
    auto rows = connection.query(kVersion);
    if (!rows) return fail(std::move(rows.error()));
    return std::stoi(*rows->at(0).at(0));
}

}  // namespace

Result<void> migrate(const Access& access) {
    auto opened = Connection::open(access);
    if (!opened) return fail(std::move(opened.error()));
    auto& connection = **opened;
    auto around = connection.query(kLookAround);
    if (!around) return fail(std::move(around.error()));
    const auto& row = around->at(0);
    if (row[0] != "UTF8")
        return fail(Code::invalid_argument, "the database at " + access.description + " is encoded in " + *row[0] +
                                                "; make one with encoding 'UTF8' for store.database_url");
    const int known = migrations().back().version;
    int present = 0;
    if (row[1] == "t") {
        auto version = current_version(connection);
        if (!version) return fail(std::move(version.error()));
        present = *version;
    }
    if (present > known)
        return fail(Code::invalid_argument, "the database at " + access.description + " has schema version " +
                                                std::to_string(present) +
                                                ", made by a newer version of Sandbox; this one knows up to " +
                                                std::to_string(known) + ": run the newer version");
    if (present == known) return {};

    std::string script = kBegin;
    if (row[2] != "t") script += kSchema;
    script += kRegister;
    for (const auto& migration : migrations())
        if (migration.version > present) script += guarded(migration);
    if (auto done = connection.script(script); !done) return fail(std::move(done.error()).in("prepare the database"));
    log::info("database schema is up to date",
              {{"from", std::to_string(present)}, {"to", std::to_string(known)}, {"at", access.description}});
    return {};
}

}  // namespace sandbox::store::postgres
