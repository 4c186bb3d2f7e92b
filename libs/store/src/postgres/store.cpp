#include "postgres/store.hpp"

#include <algorithm>

#include <sandbox/store/postgres_store.hpp>

#include "postgres/migrations.hpp"

namespace sandbox::store {

namespace postgres {

namespace {

/// Beside the pool, one connection listens and one publishes.
constexpr std::size_t kOwnConnections = 2;

}  // namespace

PostgresStore::PostgresStore(asio::any_io_executor io, Access access, std::size_t max_connections, Settings settings,
                             Random& random)
    : settings_(std::move(settings)),
      pool_(std::make_shared<Pool>(io, access,
                                   std::max<std::size_t>(max_connections, kOwnConnections + 1) - kOwnConnections)),
      board_(std::make_shared<Board>()),
      fleet_(std::make_shared<FleetCache>(pool_, settings_.aegis)),
      placements_(std::make_shared<Placements>(io, pool_, settings_.aegis)),
      watch_(std::make_shared<Watch>(io, pool_, board_, fleet_, random)),
      publisher_(io, access) {
    watch_->start();
}

PostgresStore::~PostgresStore() {
    close();
}

void PostgresStore::close() {
    watch_->stop();
    pool_->close();
    publisher_.close();
}

Task<Result<Answer>> PostgresStore::call(const Statement& statement, std::vector<Value> parameters, Deadline deadline) {
    auto job = [&statement, parameters = std::move(parameters)](Connection& connection) {
        return ask(connection, statement, parameters);
    };
    auto answer = co_await pool_->run(deadline, std::move(job));
    if (!answer) co_return fail(std::move(answer.error()));
    if (!answer->ok()) co_return fail(answer->error());
    watch_->changed(answer->notes);
    co_return answer;
}

Task<Result<Rows>> PostgresStore::read(const Statement& statement, std::vector<Value> parameters, Deadline deadline) {
    auto job = [&statement, parameters = std::move(parameters)](Connection& connection) {
        return connection.query(statement, parameters);
    };
    co_return co_await pool_->run(deadline, std::move(job));
}

}  // namespace postgres

Result<std::unique_ptr<Store>> create_postgres_store(const asio::any_io_executor& io, const PostgresSettings& postgres,
                                                     Settings settings, Random& random) {
    auto access = postgres::Access::from(postgres.url);
    if (!access) return fail(std::move(access.error()));
    if (auto migrated = postgres::migrate(*access); !migrated) return fail(std::move(migrated.error()));
    return std::make_unique<postgres::PostgresStore>(io, std::move(*access), postgres.max_connections,
                                                     std::move(settings), random);
}

}  // namespace sandbox::store
