// The PostgreSQL store joins the suite: one server and one database, which each test finds empty.
#include <support/postgres_server.hpp>

#include <sandbox/store/postgres_store.hpp>

#include "store_contract.hpp"

namespace sandbox::store::contract {
namespace {

constexpr Timestamp kStart{std::chrono::sys_days(std::chrono::year(2026) / 11 / 30)};

/// A database whose sandbox.now() is a table's word: time stands until a test moves it.
class Database {
public:
    Database() {
        asio::io_context io(1);
        SeededRandom random(1);
        const auto store = create_postgres_store(io.get_executor(), settings(), {}, random);
        if (!store) throw std::runtime_error(store.error().message());
        query(
            "create table sandbox.test_clock (now timestamptz);"
            "insert into sandbox.test_clock values (null);"
            "create or replace function sandbox.now() returns timestamptz language sql stable as "
            "'select now from sandbox.test_clock'");
    }

    void clear() {
        // The former test's sessions are gone when the server has noticed: one of them may have been the publisher.
        const bool quiet = test::eventually(std::chrono::seconds(30), [this] {
            return server_.query("postgres",
                                 "select count(*) from pg_stat_activity where application_name = 'sandboxd'") == "0";
        });
        if (!quiet) throw std::runtime_error("a former test's store still has sessions");
        query(
            "delete from sandbox.sandboxes; delete from sandbox.strangers; delete from sandbox.ledgers;"
            "delete from sandbox.nodes; delete from sandbox.polls; delete from sandbox.answers;"
            "delete from sandbox.outbox; delete from sandbox.events;");
        set_time(kStart);
        query(
            "update sandbox.watch set last_sweep = sandbox.now(), counting_from = sandbox.now(),"
            "listening_from = sandbox.now()");
    }
    void set_time(Timestamp now) { query("update sandbox.test_clock set now = '" + format_time(now) + "'"); }
    [[nodiscard]] PostgresSettings settings() const { return {.url = Secret(server_.url()), .max_connections = 4}; }

private:
    void query(const std::string& sql) { (void)server_.query("postgres", sql); }

    test::PostgresServer server_;
};

Database& database() {
    static Database database;
    return database;
}

class PostgresBackend final : public Backend {
public:
    explicit PostgresBackend(asio::io_context& io) : io_(io) { database().clear(); }

    [[nodiscard]] std::unique_ptr<Store> open(const Settings& settings) override {
        auto store = create_postgres_store(io_.get_executor(), database().settings(), settings, random_);
        if (!store) throw std::runtime_error(store.error().message());
        return std::move(*store);
    }
    [[nodiscard]] Timestamp now() const override { return now_; }
    void advance(std::chrono::microseconds by) override {
        now_ += by;
        database().set_time(now_);
    }

private:
    asio::io_context& io_;
    Timestamp now_ = kStart;
    SeededRandom random_{1};
};

}  // namespace

std::vector<Implementation> implementations() {
    return {{.name = "postgres", .create = [](asio::io_context& io) -> std::unique_ptr<Backend> {
                 return std::make_unique<PostgresBackend>(io);
             }}};
}

}  // namespace sandbox::store::contract
