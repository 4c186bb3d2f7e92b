#pragma once

#include <memory>

#include <boost/asio/any_io_executor.hpp>

#include <sandbox/base/random.hpp>
#include <sandbox/base/secret.hpp>
#include <sandbox/store/store.hpp>

namespace sandbox::store {

struct PostgresSettings {
    Secret url;                        // postgres://…, with its sslmode
    std::size_t max_connections = 16;  // at most; 3 when fewer are given: one works, one listens, one publishes
};

/// A store in PostgreSQL, which several controllers may share. Brings the schema `sandbox` of the database up to date
/// first, and blocks meanwhile. `io` is the one that all calls are made from; `random` must outlive the store.
/// Errors: invalid_argument for a URL that can't be read or a schema that a newer version has made; unavailable when
/// the database can't be reached.
[[nodiscard]] Result<std::unique_ptr<Store>> create_postgres_store(const asio::any_io_executor& io,
                                                                   const PostgresSettings& postgres, Settings settings,
                                                                   Random& random);

}  // namespace sandbox::store
