#pragma once

#include <string>
#include <vector>

#include "cluster.hpp"

namespace sandbox::test {

/// Everything that a listing holds, page by page, newest first. `member` is "sandboxes" or "operations".
[[nodiscard]] std::vector<json> listed(const std::string& address, const std::string& member);
/// The whole event log, oldest first.
[[nodiscard]] std::vector<json> event_log(const std::string& address);
[[nodiscard]] std::vector<json> nodes(const std::string& address);

/// Nobody holds anything: what is available is the total, on all nodes and by all controllers.
void expect_free_nodes(const Cluster& cluster);
/// The log tells the whole story of every sandbox that there is, each of which has been deleted: each event once, each
/// operation's end once, in order; and all controllers tell the same.
void expect_whole_log(const Cluster& cluster);
/// A consumer of the bus that knows events by their ids has seen what the log has, each sandbox's in order.
void expect_whole_bus(Cluster& cluster);
/// What the crowd has made is all there is, all stopped, with a free fleet and a whole log.
void expect_in_order(const Cluster& cluster, const std::vector<std::string>& sandboxes);

}  // namespace sandbox::test
