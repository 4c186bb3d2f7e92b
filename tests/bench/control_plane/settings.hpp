#pragma once

#include <string>

namespace sandbox::bench {

/// When the sandboxes are deleted again.
enum class Deletes { after, during, none };

/// What is to be measured.
struct Settings {
    int workers = 10;    // nodes that lease and complete
    int idle_nodes = 0;  // nodes that are full: they only heartbeat, and every placement looks at them
    int clients = 32;    // creates and execs under way at once, at most
    int controllers = 1;
    double rate = 0;  // requests per second of all clients together; 0: each client asks again when it has its answer
    int seconds = 10;
    int exec_seconds = 5;
    int warm_up_seconds = 1;
    int heartbeat_seconds = 10;
    int lease_limit = 16;  // assignments that a worker takes at once, as a real one's node.concurrency
    Deletes deletes = Deletes::after;
    bool postgres = false;
    std::string database_url;  // "" for a cluster of the benchmark's own

    /// Sandboxes that a worker's node has room for: at most half is used, so that none is ever too full to be chosen.
    [[nodiscard]] int room() const {
        const double creates = (rate > 0 ? rate : 4000) * (seconds + warm_up_seconds);
        return static_cast<int>(2 * creates / workers) + 100;
    }
};

}  // namespace sandbox::bench
