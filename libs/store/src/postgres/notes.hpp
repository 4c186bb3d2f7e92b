#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <sandbox/domain/ids.hpp>
#include <sandbox/domain/spec.hpp>

namespace sandbox::store::postgres {

/// What a node's ledger said when its version was the newest.
struct LedgerNote {
    domain::NodeId node;
    std::int64_t version = 0;
    domain::Resources total;
    domain::Resources used;
    std::int64_t max_sandboxes = 0;
    std::int64_t live = 0;
};

/// What a transaction has changed that somebody may wait for, in the words of migrations/0002_steps.sql: a wire form
/// between the database and controllers, whose versions may differ. What is not understood is passed over.
struct Notes {
    std::vector<domain::NodeId> work;
    std::vector<domain::OperationId> ended;
    std::vector<LedgerNote> ledgers;
    std::vector<domain::SandboxId> gone;
    bool nodes_changed = false;
    bool log_grew = false;

    [[nodiscard]] static Notes parse(std::string_view text);
};

}  // namespace sandbox::store::postgres
