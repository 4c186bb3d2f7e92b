#include "support/postgres_server.hpp"

#include <arpa/inet.h>
#include <fstream>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

/// libpqxx 6 forgets the result of a statement whose connection breaks meanwhile: it asks for the client's encoding,
/// which throws, before anybody owns the result. Two KiB for each connection that is lost in the middle of a statement.
extern "C" const char*
__lsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
    return "leak:pqxx::connection_base::exec\nleak:pqxx::connection_base::register_prepared\n";
}

namespace sandbox::test {

using namespace std::chrono_literals;

namespace {

std::string trimmed(std::string text) {
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
}

/// One that is free now; whoever takes it meanwhile makes the start fail.
int free_port() {
    const int probe = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    const bool bound = ::bind(probe, generic, size) == 0 && ::getsockname(probe, generic, &size) == 0;
    ::close(probe);
    if (!bound) throw std::runtime_error("no free port");
    return ntohs(address.sin_port);
}

}  // namespace

struct PostgresServer::Session {
    explicit Session(const std::string& url) : connection(PQconnectdb(url.c_str())) {
        if (PQstatus(connection) == CONNECTION_OK) return;
        const std::string problem = PQerrorMessage(connection);
        PQfinish(connection);
        throw std::runtime_error(problem);
    }
    ~Session() { PQfinish(connection); }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    PGconn* connection;
};

PostgresServer::PostgresServer(Options options) : options_(std::move(options)) {
    programs_ = trimmed(run_program({.argv = {"pg_config", "--bindir"}}).out);
    if (::access((programs_ + "/initdb").c_str(), X_OK) != 0)
        throw std::runtime_error("PostgreSQL's server is not installed (Debian's package postgresql)");
    if (::geteuid() == 0) {
        for (const char* name : {"postgres", "nobody"}) {
            const auto* entry = ::getpwnam(name);
            if (entry == nullptr) continue;
            user_ = name;
            if (::chown(directory_.path().c_str(), entry->pw_uid, entry->pw_gid) != 0)
                throw std::runtime_error("chown failed");
            break;
        }
    }
    const auto password = directory_.path() + "/password";
    std::ofstream(password) << kPassword << '\n';
    const auto made =
        run_program({.argv = as_its_user({programs_ + "/initdb", "-D", directory_.path() + "/data", "-U", "sandbox",
                                          "-E", "UTF8", "--locale=C", "--no-sync", "--auth-local=trust",
                                          "--auth-host=scram-sha-256", "--pwfile=" + password})},
                    2min);
    if (made.status != 0) throw std::runtime_error("initdb failed: " + made.out + made.err);
    if (options_.tcp) port_ = free_port();
    start();
}

PostgresServer::~PostgresServer() {
    if (!process_) return;
    try {
        end(SIGQUIT);
    } catch (const std::exception&) {
        process_.reset();
    }
}

std::vector<std::string> PostgresServer::as_its_user(std::vector<std::string> argv) const {
    std::vector<std::string> all{"setpriv", "--pdeathsig", "QUIT"};
    if (!user_.empty()) {
        const auto* entry = ::getpwnam(user_.c_str());
        all.insert(all.end(), {"--reuid", std::to_string(entry->pw_uid), "--regid", std::to_string(entry->pw_gid),
                               "--clear-groups"});
    }
    all.insert(all.end(), argv.begin(), argv.end());
    return all;
}

std::string PostgresServer::url(const std::string& database) const {
    if (options_.tcp)
        return std::string("postgres://sandbox:") + kPassword + "@127.0.0.1:" + std::to_string(port_) + "/" + database;
    return "postgres://sandbox@/" + database + "?host=" + directory_.path();
}

std::string PostgresServer::query(const std::string& database, const std::string& sql) {
    auto& session = sessions_[database];
    if (!session) session = std::make_unique<Session>(url(database));
    const std::unique_ptr<PGresult, void (*)(PGresult*)> result(PQexec(session->connection, sql.c_str()), PQclear);
    const auto status = PQresultStatus(result.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
        const std::string problem = PQerrorMessage(session->connection);
        if (PQstatus(session->connection) != CONNECTION_OK) session.reset();
        throw std::runtime_error(problem);
    }
    return PQntuples(result.get()) > 0 ? PQgetvalue(result.get(), 0, 0) : "";
}

void PostgresServer::start() {
    const auto safe = options_.fsync ? "on" : "off";
    std::vector<std::string> argv{programs_ + "/postgres", "-D", directory_.path() + "/data", "-k",
                                  directory_.path(),       "-p", std::to_string(port_)};
    std::vector<std::string> settings{std::string("listen_addresses=") + (options_.tcp ? "127.0.0.1" : ""),
                                      std::string("fsync=") + safe,
                                      std::string("full_page_writes=") + safe,
                                      "max_connections=200",
                                      "shared_buffers=64MB",
                                      "logging_collector=off"};
    settings.insert(settings.end(), options_.settings.begin(), options_.settings.end());
    for (const auto& setting : settings) argv.insert(argv.end(), {"-c", setting});
    process_ = std::make_unique<Process>(Start{
        .argv = as_its_user(std::move(argv)), .environment = {}, .input = "", .working_directory = directory_.path()});
    const bool accepts = eventually(60s, [this] {
        if (!process_->running()) throw std::runtime_error("PostgreSQL ended: " + process_->err());
        return PQping(url().c_str()) == PQPING_OK;
    });
    if (!accepts) throw std::runtime_error("PostgreSQL does not start: " + process_->err());
}

void PostgresServer::end(int signal) {
    sessions_.clear();
    process_->signal(signal);
    process_->wait(60s);
    former_log_ += process_->err();
    process_.reset();
}

void PostgresServer::stop() {
    end(SIGINT);
}

void PostgresServer::kill() {
    end(SIGQUIT);
}

std::string PostgresServer::log() const {
    return former_log_ + (process_ ? process_->err() : "");
}

}  // namespace sandbox::test
