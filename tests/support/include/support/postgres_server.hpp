#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <support/process.hpp>

namespace sandbox::test {

/// A real PostgreSQL cluster of the test's own, in a temporary directory, on a Unix socket there and, when asked for,
/// on a free loopback port. Ended and removed when this goes, and with the test's process at the latest. As root it
/// runs under another user, since PostgreSQL refuses root.
class PostgresServer {
public:
    struct Options {
        bool fsync = false;                 // true: as safe, and as slow, as in earnest
        bool tcp = false;                   // the URL names the port, with a password
        std::vector<std::string> settings;  // more of postgresql.conf: "log_statement=all"
    };
    explicit PostgresServer(Options options);
    PostgresServer() : PostgresServer(Options{}) {}
    ~PostgresServer();
    PostgresServer(const PostgresServer&) = delete;
    PostgresServer& operator=(const PostgresServer&) = delete;

    [[nodiscard]] std::string url(const std::string& database = "postgres") const;
    /// The password in a TCP URL.
    static constexpr const char* kPassword = "s3cret-of-the-test";

    /// Runs SQL on a connection that is kept for the next time; the first field of the last result, "" when there is
    /// none. Throws. One thread.
    std::string query(const std::string& database, const std::string& sql);

    /// Waits until it accepts connections.
    void start();
    /// Ends all sessions and waits for its end.
    void stop();
    /// The same without any farewell: it recovers when it starts again.
    void kill();
    void restart() {
        stop();
        start();
    }
    /// Everything that it has logged.
    [[nodiscard]] std::string log() const;
    [[nodiscard]] pid_t pid() const { return process_->pid(); }

private:
    [[nodiscard]] std::vector<std::string> as_its_user(std::vector<std::string> argv) const;
    void end(int signal);

    Options options_;
    TemporaryDirectory directory_;
    std::string programs_;
    std::string user_;  // "" for our own
    int port_ = 5432;
    std::unique_ptr<Process> process_;
    std::string former_log_;
    struct Session;
    std::map<std::string, std::unique_ptr<Session>> sessions_;
};

}  // namespace sandbox::test
