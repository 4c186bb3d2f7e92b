#include "postgres/connection.hpp"

#include <atomic>
#include <cstring>
#include <poll.h>
#include <pqxx/pqxx>
#include <set>

#include <sandbox/base/log.hpp>

namespace sandbox::store::postgres {

namespace {

constexpr int kDeadlockRepeats = 3;

std::atomic<std::uint64_t> connections{0};

/// The last line break and what is only for the log of psql ("LINE 1: …") make no sentence.
std::string first_line(const char* text) {
    std::string line(text);
    if (line.starts_with("ERROR:  ")) line.erase(0, 8);
    if (line.starts_with("FATAL:  ")) line.erase(0, 8);
    if (const auto end = line.find('\n'); end != std::string::npos) line.resize(end);
    return line;
}

/// By the class of SQLSTATE: the server is not there for us now, and may be later.
bool passes(const std::string& state) {
    for (const char* prefix : {"08", "53", "57", "58", "25006", "55P03", "40"})
        if (state.starts_with(prefix)) return true;
    return false;
}

Rows rows_of(const pqxx::result& result) {
    Rows rows;
    rows.reserve(result.size());
    for (const auto& tuple : result) {
        auto& row = rows.emplace_back();
        row.reserve(tuple.size());
        for (const auto& field : tuple)
            row.push_back(field.is_null() ? std::nullopt : Value(std::string(field.c_str(), field.size())));
    }
    return rows;
}

class Ear final : public pqxx::notification_receiver {
public:
    Ear(pqxx::connection_base& connection, const std::string& channel, std::function<void(const std::string&)> hear)
        : pqxx::notification_receiver(connection, channel), hear_(std::move(hear)) {}
    void operator()(const std::string& payload, int /*backend*/) override { hear_(payload); }

private:
    std::function<void(const std::string&)> hear_;
};

}  // namespace

struct Connection::Session {
    explicit Session(const std::string& conninfo) : connection(conninfo) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
        connection.inhibit_reactivation(true);  // it would come back without what this session has set up
#pragma GCC diagnostic pop
    }
    pqxx::connection connection;
    pqxx::quiet_errorhandler quiet{connection};  // notices would go to standard error, past the log
    std::set<const char*> prepared;
    std::unique_ptr<Ear> ear;  // goes before the connection that it is registered at
};

Connection::Connection(const Access& access, std::unique_ptr<Session> session)
    : access_(access), session_(std::move(session)), number_(++connections) {}

Connection::~Connection() = default;

Result<std::unique_ptr<Connection>> Connection::open(const Access& access) {
    try {
        auto session = std::make_unique<Session>(access.conninfo);
        return std::unique_ptr<Connection>(new Connection(access, std::move(session)));
    } catch (const std::exception& failure) {
        return fail(Code::unavailable, "PostgreSQL at " + access.description +
                                           " can't be reached: " + access.censored(first_line(failure.what())));
    }
}

Result<Rows> Connection::query(const Statement& statement, const std::vector<Value>& parameters) {
    std::vector<const char*> texts;
    texts.reserve(parameters.size());
    for (const auto& parameter : parameters) texts.push_back(parameter ? parameter->c_str() : nullptr);
    for (int repeats = 0;; ++repeats) {
        try {
            if (session_->prepared.insert(statement.name).second)
                session_->connection.prepare(statement.name, statement.sql);
            pqxx::nontransaction transaction(session_->connection);
            return rows_of(transaction.exec_prepared(statement.name,
                                                     pqxx::prepare::make_dynamic_params(texts.begin(), texts.end())));
        } catch (const pqxx::transaction_rollback& rollback) {
            if (dynamic_cast<const pqxx::statement_completion_unknown*>(&rollback) || repeats == kDeadlockRepeats)
                return fail(failed());
        } catch (...) {
            return fail(failed());
        }
    }
}

Result<void> Connection::script(const std::string& sql) {
    try {
        pqxx::work transaction(session_->connection);
        transaction.exec(sql);
        transaction.commit();
        return {};
    } catch (...) {
        return fail(failed());
    }
}

Error Connection::failed() {
    try {
        throw;
    } catch (const pqxx::broken_connection& failure) {
        broken_ = true;
        return Error(Code::unavailable, "PostgreSQL went away: " + access_.censored(first_line(failure.what())));
    } catch (const pqxx::in_doubt_error&) {
        broken_ = true;
        return Error(Code::unavailable, "PostgreSQL went away while it committed: this may have happened or not");
    } catch (const pqxx::sql_error& failure) {
        broken_ = !session_->connection.is_open();
        const auto said = access_.censored(first_line(failure.what()));
        if (broken_ || passes(failure.sqlstate())) return Error(Code::unavailable, "PostgreSQL: " + said);
        log::error("PostgreSQL refused a statement", {{"sqlstate", failure.sqlstate()}, {"error", said}});
        return Error(Code::internal, "PostgreSQL refused a statement: " + said);
    } catch (const pqxx::transaction_rollback& failure) {
        return Error(Code::unavailable, "PostgreSQL: " + access_.censored(first_line(failure.what())));
    } catch (const std::exception& failure) {
        broken_ = true;
        const auto said = access_.censored(first_line(failure.what()));
        if (!session_->connection.is_open()) return Error(Code::unavailable, "PostgreSQL went away: " + said);
        log::error("the PostgreSQL client failed", {{"error", said}});
        return Error(Code::internal, "the PostgreSQL client failed: " + said);
    }
}

bool Connection::seems_alive() const noexcept {
    if (broken_) return false;
    // An idle session hears nothing; a word from the server, or the end, is its farewell.
    pollfd descriptor{.fd = socket(), .events = POLLIN | POLLRDHUP, .revents = 0};
    return descriptor.fd >= 0 && ::poll(&descriptor, 1, 0) == 0;
}

int Connection::socket() const noexcept {
    return session_->connection.is_open() ? session_->connection.sock() : -1;
}

Result<void> Connection::listen(const std::string& channel, std::function<void(const std::string&)> hear) {
    try {
        session_->ear = std::make_unique<Ear>(session_->connection, channel, std::move(hear));
        return {};
    } catch (...) {
        return fail(failed());
    }
}

Result<void> Connection::notified() {
    try {
        session_->connection.get_notifs();
        if (!session_->connection.is_open()) {
            broken_ = true;
            return fail(Code::unavailable, "PostgreSQL went away");
        }
        return {};
    } catch (...) {
        return fail(failed());
    }
}

}  // namespace sandbox::store::postgres
