#pragma once

#include <span>

#include "postgres/connection.hpp"

namespace sandbox::store::postgres {

/// One step of the schema: libs/store/migrations/<version>_<name>.sql. What was released is never changed.
struct Migration {
    int version;
    const char* name;
    const char* sql;
};

/// In order, from 1, without gaps.
[[nodiscard]] std::span<const Migration> migrations();

/// Brings the schema `sandbox` to what this program knows, in one transaction, while others who start wait. Blocks.
/// Errors: invalid_argument for a schema that a newer version has made, or a database that is not in UTF-8;
/// unavailable; internal.
[[nodiscard]] Result<void> migrate(const Access& access);

}  // namespace sandbox::store::postgres
