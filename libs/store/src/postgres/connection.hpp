#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sandbox/base/error.hpp>
#include <sandbox/base/secret.hpp>

namespace sandbox::store::postgres {

/// Within this every call has its answer, be it that there is none: the server cancels sooner what takes too long.
inline constexpr std::chrono::milliseconds kAnswerWithin{4000};

/// One statement, prepared on each connection at its first use there. Both are literals.
struct Statement {
    const char* name;
    const char* sql;
};

/// A parameter in text form; null when absent. No NUL: everything that may hold one goes as JSON, which escapes it.
using Value = std::optional<std::string>;
using Row = std::vector<Value>;
using Rows = std::vector<Row>;

/// How to reach the database.
struct Access {
    std::string conninfo;              // keywords and values, with the password: never shown
    std::string description;           // "db.internal:5432, database sandbox", for people
    std::vector<std::string> secrets;  // what no message may show

    /// Reads a postgres:// URL and adds the bounds that every connection keeps. Errors: invalid_argument.
    [[nodiscard]] static Result<Access> from(const Secret& url);
    /// The text without any of the secrets.
    [[nodiscard]] std::string censored(std::string text) const;
};

/// One session with the server, all of whose calls block. One thread at a time. Each statement is a transaction.
class Connection {
public:
    /// `access` must outlive it. Errors: unavailable when the server can't be reached or refuses the session.
    [[nodiscard]] static Result<std::unique_ptr<Connection>> open(const Access& access);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// Errors: unavailable when the server went away, or cancelled it because it took too long; what it was about may
    /// have happened all the same. internal for what can only be a fault of ours; it is logged here.
    /// A deadlock's victim is repeated.
    [[nodiscard]] Result<Rows> query(const Statement& statement, const std::vector<Value>& parameters = {});
    /// Several statements in one transaction, without parameters. Errors as above.
    [[nodiscard]] Result<void> script(const std::string& sql);

    /// Has failed once in a way that says nothing good about it: to be thrown away.
    [[nodiscard]] bool broken() const noexcept { return broken_; }
    /// Whether an idle connection is still there, without asking the server.
    [[nodiscard]] bool seems_alive() const noexcept;
    /// -1 when there is none.
    [[nodiscard]] int socket() const noexcept;
    /// No two connections of a process have the same.
    [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

    /// Listens: what is notified on the channel is given to `hear` by notified().
    [[nodiscard]] Result<void> listen(const std::string& channel, std::function<void(const std::string&)> hear);
    /// Takes what has come in, without waiting. Errors: unavailable when the connection is gone.
    [[nodiscard]] Result<void> notified();

private:
    struct Session;
    Connection(const Access& access, std::unique_ptr<Session> session);
    [[nodiscard]] Error failed();  // turns the exception in flight into an error

    const Access& access_;
    std::unique_ptr<Session> session_;
    std::uint64_t number_;
    bool broken_ = false;
};

}  // namespace sandbox::store::postgres
