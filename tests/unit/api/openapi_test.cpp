#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sandbox/api/messages.hpp>
#include <sandbox/api/openapi.hpp>
#include <sandbox/base/json_reader.hpp>

namespace sandbox::api {
namespace {

using nlohmann::json;
using testing::UnorderedElementsAreArray;

const json& document() {
    static const json parsed = parse_json(openapi_document()).value();
    return parsed;
}

const json& schema(const std::string& name) {
    return document().at("components").at("schemas").at(name);
}

std::set<std::string> keys(const json& object) {
    std::set<std::string> names;
    for (const auto& [name, value] : object.items()) names.insert(name);
    return names;
}

std::set<std::string> required(const std::string& name) {
    return schema(name).value("required", std::set<std::string>());
}

/// Calls `visit` for each "$ref" below a value.
template <class Visit>
void each_reference(const json& value, Visit visit) {
    if (value.is_object() && value.contains("$ref")) visit(value["$ref"].get<std::string>());
    for (const auto& child : value)
        if (child.is_structured()) each_reference(child, visit);
}

TEST(OpenApi, refers_only_to_what_it_holds_and_holds_only_what_it_refers_to) {
    std::set<std::string> used;
    each_reference(document(), [&](const std::string& target) {
        used.insert(target);
        EXPECT_TRUE(document().contains(json::json_pointer(target.substr(1)))) << target;
    });
    for (const auto& kind : {"schemas", "parameters"})
        for (const auto& name : keys(document()["components"][kind])) {
            auto target = std::string("#/components/") + kind + "/" + name;
            EXPECT_TRUE(used.contains(target)) << target;
        }
}

// The contract's table.
TEST(OpenApi, has_every_endpoint) {
    using Operation = std::pair<std::string, std::string>;
    const std::vector<Operation> table{{"GET", "/healthz"},
                                       {"GET", "/readyz"},
                                       {"POST", "/v1/sandboxes"},
                                       {"GET", "/v1/sandboxes"},
                                       {"GET", "/v1/sandboxes/{id}"},
                                       {"POST", "/v1/sandboxes/{id}/exec"},
                                       {"POST", "/v1/sandboxes/{id}/extend"},
                                       {"POST", "/v1/sandboxes/{id}/tunnels"},
                                       {"DELETE", "/v1/sandboxes/{id}/tunnels/{tunnel_id}"},
                                       {"DELETE", "/v1/sandboxes/{id}"},
                                       {"GET", "/v1/operations/{id}"},
                                       {"GET", "/v1/operations"},
                                       {"POST", "/v1/operations/{id}/cancel"},
                                       {"GET", "/v1/events"},
                                       {"GET", "/v1/nodes"},
                                       {"GET", "/v1/nodes/{id}"},
                                       {"POST", "/v1/nodes/{id}/drain"},
                                       {"GET", "/v1/tunnels/authorize"},
                                       {"GET", "/v1/local-tunnels/connect"},
                                       {"GET", "/metrics"},
                                       {"GET", "/openapi.json"},
                                       {"POST", "/v1/nodes/register"},
                                       {"POST", "/v1/nodes/{id}/heartbeat"},
                                       {"GET", "/v1/nodes/{id}/streams"},
                                       {"GET", "/v1/nodes/{id}/assignments"},
                                       {"POST", "/v1/assignments/release"},
                                       {"POST", "/v1/assignments/complete"}};

    EXPECT_THAT(openapi_operations(), UnorderedElementsAreArray(table));
    std::set<std::string> ids;
    std::size_t operations = 0;
    for (const auto& item : document()["paths"])
        for (const auto& operation : item) {
            ids.insert(operation["operationId"].get<std::string>());
            ++operations;
        }
    EXPECT_EQ(operations, table.size());
    EXPECT_EQ(ids.size(), table.size());
}

// A path's {names} are declared, and nothing else is said to be in the path.
TEST(OpenApi, declares_the_parameters_of_its_paths) {
    for (const auto& [path, item] : document()["paths"].items())
        for (const auto& operation : item) {
            for (const auto& reference : operation.value("parameters", json::array())) {
                const auto& parameter =
                    document().at(json::json_pointer(reference["$ref"].get<std::string>().substr(1)));
                auto name = "{" + parameter["name"].get<std::string>() + "}";
                if (parameter["in"] == "path") EXPECT_NE(path.find(name), std::string::npos) << path;
            }
            auto declared = operation.value("parameters", json::array()).dump();
            EXPECT_EQ(path.find("{id}") != std::string::npos, declared.find("parameters/id\"") != std::string::npos)
                << path;
        }
}

// What every POST of operators takes, and everything that enqueues.
TEST(OpenApi, offers_idempotency_and_waiting_where_the_contract_does) {
    for (const auto& [path, item] : document()["paths"].items()) {
        if (!item.contains("post")) continue;
        bool operators = item["post"]["security"].dump().find("operator") != std::string::npos;
        EXPECT_EQ(item["post"].dump().find("idempotency_key") != std::string::npos, operators) << path;
    }
    for (const auto& [path, method] : {std::pair{"/v1/sandboxes", "post"},
                                       {"/v1/sandboxes/{id}", "delete"},
                                       {"/v1/sandboxes/{id}/exec", "post"},
                                       {"/v1/sandboxes/{id}/tunnels", "post"},
                                       {"/v1/operations/{id}", "get"},
                                       {"/v1/operations/{id}/cancel", "post"}})
        EXPECT_NE(document()["paths"][path][method].dump().find("parameters/wait_seconds"), std::string::npos) << path;
}

/// What the domain writes of a value, under the name of its schema.
std::vector<std::pair<std::string, json>> written_shapes() {
    const json spec = domain::SandboxSpec{};
    domain::Heartbeat heartbeat;
    heartbeat.in_flight.emplace().emplace_back();
    heartbeat.inventory.emplace().emplace_back();
    domain::Node node;
    node.runtime = domain::RuntimeInfo{};
    Health ready;
    ready.events = EventLag{};
    domain::Assignment assignment;
    auto work = [&](domain::Work kind) {
        assignment.kind = std::move(kind);
        return json(assignment)["kind"];
    };
    return {{"SandboxSpec", spec},
            {"Resources", spec["resources"]},
            {"Signals", spec["signals"]},
            {"Placement", spec["placement"]},
            {"Exposure", domain::Exposure{}},
            {"Command", domain::Command{}},
            {"Sandbox", domain::Sandbox{}},
            {"Startup", domain::Startup{}},
            {"Tunnel", domain::Tunnel{}},
            {"Operation", domain::Operation{}},
            {"Output", domain::Output{}},
            {"Node", node},
            {"Capacity", domain::Capacity{}},
            {"RuntimeInfo", json(node)["runtime"]},
            {"Heartbeat", heartbeat},
            {"InFlight", json(heartbeat)["in_flight"][0]},
            {"InventoryItem", json(heartbeat)["inventory"][0]},
            {"Assignment", assignment},
            {"CreateWork", work(domain::CreateWork{})},
            {"ExecWork", work(domain::ExecWork{})},
            {"ExposeWork", work(domain::ExposeWork{})},
            {"UnexposeWork", work(domain::UnexposeWork{})},
            {"DeleteWork", work(domain::DeleteWork{})},
            {"Completion", domain::Completion{}},
            {"Health", Health{}},
            {"HealthTunnels", json(Health{})["tunnels"]},
            {"EventLag", json(ready)["events"]},
            {"LoggedEvent", LoggedEvent{}},
            {"EventList", EventList{}},
            {"SandboxAndOperation", SandboxAndOperation{}},
            {"SandboxList", SandboxList{}},
            {"OperationList", OperationList{}},
            {"RegisterAnswer", RegisterAnswer{}},
            {"HeartbeatAnswer", HeartbeatAnswer{}},
            {"LeaseAnswer", LeaseAnswer{}},
            {"CreateRequest", parse_json(create_request({})).value()},
            {"ExecRequest", parse_json(exec_request({})).value()},
            {"RegisterRequest", parse_json(register_request({})).value()},
            {"ReleaseRequest", parse_json(release_request({})).value()}};
}

// The document can't drift from the code: a field that is added to the one fails here until it is in the other.
TEST(OpenApi, has_the_properties_that_are_written) {
    for (const auto& [name, value] : written_shapes())
        EXPECT_THAT(keys(schema(name)["properties"]), UnorderedElementsAreArray(keys(value))) << name;
}

TEST(OpenApi, spells_enumerations_as_the_domain_does) {
    auto check = [](const std::string& name, const auto& table) {
        std::vector<std::string> spellings;
        for (const auto& [spelling, value] : table) spellings.emplace_back(spelling);
        EXPECT_EQ(schema(name)["enum"].get<std::vector<std::string>>(), spellings) << name;
    };
    check("Network", domain::kNetworkNames);
    check("IsolationPreference", domain::kIsolationPreferenceNames);
    check("Tier", domain::kTierNames);
    check("Sensitivity", domain::kSensitivityNames);
    check("Protocol", domain::kProtocolNames);
    check("SandboxState", domain::kSandboxStateNames);
    check("TunnelState", domain::kTunnelStateNames);
    check("OperationState", domain::kOperationStateNames);
    check("OperationKind", domain::kOperationKindNames);
    check("AssignmentState", domain::kAssignmentStateNames);
}

/// Leaves out each property in turn: the reader must refuse exactly those that the schema requires.
template <class Read>
void expect_required_fields(const std::string& name, const json& complete, Read read) {
    auto problems_of = [&](const json& value) {
        Problems problems;
        (void)read(value, problems);
        return problems.items();
    };
    EXPECT_THAT(problems_of(complete), testing::IsEmpty()) << name;
    for (const auto& field : keys(complete)) {
        auto without = complete;
        without.erase(field);
        EXPECT_EQ(!problems_of(without).empty(), required(name).contains(field)) << name << "." << field;
    }
}

TEST(OpenApi, requires_what_the_readers_require) {
    using UnknownFields::refuse;
    const json spec = domain::SandboxSpec{.tenant = "t", .image = "i"};
    const json exposure = domain::Exposure{.container_port = 80};
    const json command = domain::Command{.argv = {"true"}};
    auto peer = [](auto read) {
        return [read](const json& value, Problems& problems) { return read(value, "", problems); };
    };
    auto caller = [](auto read) {
        return [read](const json& value, Problems& problems) { return read(value, "", problems, refuse); };
    };

    expect_required_fields("SandboxSpec", spec, [&](const json& value, Problems& problems) {
        domain::validate(domain::read_spec(value, "", problems, refuse), "", {}, problems);
        return true;
    });
    expect_required_fields("Exposure", exposure, caller(domain::read_exposure));
    expect_required_fields("Command", command, caller(domain::read_command));
    expect_required_fields("Node", domain::Node{}, peer(domain::read_node));
    expect_required_fields("Capacity", domain::Capacity{}, peer(domain::read_capacity));
    expect_required_fields("Heartbeat", domain::Heartbeat{}, peer(domain::read_heartbeat));
    expect_required_fields("Completion", domain::Completion{}, peer(domain::read_completion));
}

// A default in the document is the one that a reader gives.
TEST(OpenApi, states_the_defaults_that_the_readers_give) {
    Problems problems;
    const json read = domain::read_spec({{"tenant", "t"}, {"image", "i"}}, "", problems, UnknownFields::refuse);
    const auto& properties = schema("SandboxSpec")["properties"];
    for (const auto& name : {"command", "env", "resources", "network", "isolation", "sensitivity", "ttl_seconds",
                             "labels", "exposures", "agent"})
        EXPECT_EQ(properties[name]["default"], read[name]) << name;
    EXPECT_EQ(schema("Command")["properties"]["timeout_seconds"]["default"], domain::Command{}.timeout_seconds);
}

}  // namespace
}  // namespace sandbox::api
