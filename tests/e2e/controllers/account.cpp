#include "account.hpp"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sandbox::test {

std::vector<json> listed(const std::string& address, const std::string& member) {
    std::vector<json> all;
    for (std::string cursor;;) {
        const auto page =
            call(address, "GET", "/v1/" + member + "?limit=500" + (cursor.empty() ? "" : "&cursor=" + cursor)).json();
        for (const auto& item : page.at(member)) all.push_back(item);
        if (page.at("next_cursor").is_null()) return all;
        cursor = page.at("next_cursor").get<std::string>();
    }
}

std::vector<json> event_log(const std::string& address) {
    std::vector<json> all;
    for (std::string after = "0";;) {
        const auto page = call(address, "GET", "/v1/events?limit=1000&after=" + after).json();
        if (page.at("events").empty()) return all;
        for (const auto& event : page.at("events")) all.push_back(event);
        after = page.at("next").dump();
    }
}

std::vector<json> nodes(const std::string& address) {
    return call(address, "GET", "/v1/nodes").json().at("nodes").get<std::vector<json>>();
}

void expect_free_nodes(const Cluster& cluster) {
    for (const auto& address : cluster.addresses()) {
        const bool free = eventually(30s, [&] {
            return std::ranges::all_of(nodes(address), [](const json& node) {
                return node["capacity"]["available"] == node["capacity"]["total"] &&
                       node["capacity"]["running_sandboxes"] == 0;
            });
        });
        EXPECT_TRUE(free) << json(nodes(address)).dump(2);
    }
}

namespace {

/// How the events of a deleted sandbox must follow each other.
void expect_a_life(const std::vector<json>& events, const std::set<std::string>& operations) {
    std::vector<std::string> types;
    std::multiset<std::string> ended;
    for (const auto& event : events) {
        types.push_back(event["event_type"].get<std::string>());
        if (types.back().starts_with("sandbox.operation_"))
            ended.insert(event["attributes"]["operation_id"].get<std::string>());
    }
    const auto story = testing::PrintToString(types);
    ASSERT_GE(types.size(), 4U) << story;
    EXPECT_EQ(types.front(), "sandbox.scheduled") << story;
    EXPECT_EQ(std::ranges::count(types, "sandbox.scheduled"), 1) << story;
    EXPECT_EQ(std::ranges::count(types, "sandbox.stopping"), 1) << story;
    EXPECT_EQ(types.back(), "sandbox.operation_succeeded") << story;
    EXPECT_EQ(events.back()["attributes"]["kind"], "delete") << story;
    EXPECT_EQ(events.back()["attributes"]["state"], "stopped") << story;
    EXPECT_EQ(ended, std::multiset<std::string>(operations.begin(), operations.end())) << story;
}

}  // namespace

void expect_whole_log(const Cluster& cluster) {
    const auto& address = cluster.address(0);
    const auto operations = listed(address, "operations");
    std::vector<json> log;
    // They leave the outbox a moment later.
    EXPECT_TRUE(eventually(60s,
                           [&] {
                               log = event_log(address);
                               return std::ranges::count_if(log, [](const json& event) {
                                          return event["attributes"].contains("operation_id");
                                      }) >= static_cast<std::ptrdiff_t>(operations.size());
                           }))
        << log.size() << " events of " << operations.size() << " operations";
    for (const auto& other : cluster.addresses()) EXPECT_EQ(event_log(other), log);

    std::set<std::string> ids;
    std::map<std::string, std::vector<json>> by_sandbox;
    auto last = log.at(0)["sequence"].get<std::uint64_t>() - 1;
    for (const auto& event : log) {
        EXPECT_TRUE(ids.insert(event["event_id"].get<std::string>()).second) << "twice: " << event.dump();
        EXPECT_EQ(event["sequence"].get<std::uint64_t>(), ++last) << event.dump();
        if (event["event_type"].get<std::string>().starts_with("sandbox."))
            by_sandbox[event["sandbox_id"].get<std::string>()].push_back(event);
    }
    std::map<std::string, std::set<std::string>> operations_of;
    for (const auto& operation : operations)
        operations_of[operation["sandbox_id"].get<std::string>()].insert(operation["id"].get<std::string>());
    EXPECT_EQ(by_sandbox.size(), operations_of.size());
    for (const auto& [sandbox, its] : operations_of) expect_a_life(by_sandbox[sandbox], its);
}

void expect_whole_bus(Cluster& cluster) {
    std::map<std::string, std::vector<json>> seen;  // by sandbox, or node
    std::set<std::string> ids;
    const auto of = [](const json& event) {
        return event["sandbox_id"].is_null() ? event["node_id"].get<std::string>()
                                             : event["sandbox_id"].get<std::string>();
    };
    for (const auto& message : nats_stream_messages(cluster.nats().url(), Cluster::kStream)) {
        auto event = json::parse(message.data);
        if (ids.insert(event["event_id"].get<std::string>()).second) seen[of(event)].push_back(std::move(event));
    }
    std::map<std::string, std::vector<json>> logged;
    for (auto event : event_log(cluster.address(0))) {
        event.erase("sequence");
        logged[of(event)].push_back(std::move(event));
    }
    EXPECT_EQ(seen.size(), logged.size());
    for (const auto& [id, events] : logged) EXPECT_EQ(seen[id], events) << id;
}

void expect_in_order(const Cluster& cluster, const std::vector<std::string>& sandboxes) {
    std::multiset<std::string> found;
    for (const auto& sandbox : listed(cluster.address(0), "sandboxes")) {
        found.insert(sandbox["id"].get<std::string>());
        EXPECT_EQ(sandbox["state"], "stopped") << sandbox.dump();
    }
    EXPECT_EQ(found, std::multiset<std::string>(sandboxes.begin(), sandboxes.end()));
    for (const auto& operation : listed(cluster.address(0), "operations"))
        EXPECT_EQ(operation["state"], "succeeded") << operation.dump();
    expect_free_nodes(cluster);
    expect_whole_log(cluster);
}

}  // namespace sandbox::test
