#include <fstream>

#include "cli_fixture.hpp"

namespace sandbox::test {
namespace {

class Create : public CliTest {};

// A script takes the last line, or asks for nothing else.
TEST_F(Create, ends_its_output_with_the_id) {
    const auto ended = run({"create", "--image", kImage, "--memory-mib", "128", "--disk-mib", "64"});
    const auto id = ended.out.substr(ended.out.size() - 37, 36);
    owns(id);

    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_THAT(ended.out,
                MatchesRegex("running as container on node [0-9a-f-]+, risk [0-9]+, expires in [0-9]+ min\n" +
                             std::string(kIdLine)));
    EXPECT_EQ(ended.err, "");
    EXPECT_EQ(json({"inspect", id})["state"], "running");
}

TEST_F(Create, prints_the_id_alone_when_it_is_to_be_quiet) {
    const auto ended = run({"create", "--image", kImage, "--quiet"});
    owns(ended.out.substr(0, 36));

    EXPECT_THAT(ended.out, MatchesRegex(kIdLine));
    EXPECT_EQ(ended.err, "");
}

// Every option finds its field.
TEST_F(Create, asks_for_what_its_options_say) {
    std::ofstream(home_.path() + "/variables") << "# from a file\nFROM_FILE=1\nBOTH=file\n";
    const auto document = json({"create",
                                "--image",
                                kImage,
                                "--tenant",
                                "somebody",
                                "--cpu-millis",
                                "250",
                                "--memory-mib",
                                "96",
                                "--disk-mib",
                                "65",
                                "--pids",
                                "33",
                                "--ttl",
                                "120",
                                "--network",
                                "deny",
                                "--isolation",
                                "container",
                                "--sensitivity",
                                "public",
                                "--untrusted-repo",
                                "--generated-code",
                                "--needs-secrets",
                                "--label",
                                "a=1",
                                "--label",
                                "b=x=y",
                                "--env",
                                "BOTH=option",
                                "--env",
                                "LIST=[a,b]",
                                "--env-file",
                                home_.path() + "/variables",
                                "--region",
                                "elsewhere",
                                "--",
                                "sleep",
                                "1000"});
    const auto& spec = document["sandbox"]["spec"];
    owns(document["sandbox"]["id"]);

    EXPECT_EQ(spec["tenant"], "somebody");
    EXPECT_EQ(spec["resources"],
              (nlohmann::json{{"cpu_millis", 250}, {"memory_mib", 96}, {"disk_mib", 65}, {"pids", 33}}));
    EXPECT_EQ(spec["ttl_seconds"], 120);
    EXPECT_EQ(spec["network"], "deny");
    EXPECT_EQ(spec["isolation"], "container");
    EXPECT_EQ(spec["sensitivity"], "public");
    EXPECT_EQ(spec["signals"], (nlohmann::json{{"untrusted_repository", true},
                                               {"executes_generated_code", true},
                                               {"needs_secrets", true},
                                               {"host_mounts", false},
                                               {"privileged", false}}));
    EXPECT_EQ(spec["labels"], (nlohmann::json{{"a", "1"}, {"b", "x=y"}}));
    EXPECT_EQ(spec["env"], (nlohmann::json{{"FROM_FILE", "1"}, {"BOTH", "option"}, {"LIST", "[a,b]"}}));
    EXPECT_EQ(spec["placement"]["preferred_region"], "elsewhere");
    EXPECT_EQ(spec["command"], (nlohmann::json{"sleep", "1000"}));
    EXPECT_EQ(document["operation"]["state"], "succeeded");
    EXPECT_EQ(document["operation"]["kind"], "create");
}

// The short names are the command's; the long ones are the API's.
TEST_F(Create, knows_networks_by_short_and_long_names) {
    for (const auto* name : {"open", "open_egress"}) {
        const auto document = json({"create", "--image", kImage, "--network", name});
        owns(document["sandbox"]["id"]);
        EXPECT_EQ(document["sandbox"]["spec"]["network"], "open_egress");
    }
}

// A required label that no node has: nothing is made, and the counts say why.
TEST_F(Create, tells_why_nothing_fits) {
    const auto error = json_error({"create", "--image", kImage, "--require-label", "gpu=h100"});

    EXPECT_EQ(error["code"], "no_capacity");
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("`sandbox node list --json` shows which labels"));
    EXPECT_THAT(error["request_id"].get<std::string>(), Not(IsEmpty()));
    EXPECT_EQ(json({"list"}), nlohmann::json::array());
}

TEST_F(Create, returns_at_once_when_it_is_not_to_wait) {
    const auto document = json({"create", "--image", kImage, "--no-wait"});
    owns(document["sandbox"]["id"]);

    EXPECT_THAT((std::vector<std::string>{"pending", "running"}),
                ::testing::Contains(document["operation"]["state"].get<std::string>()));
    EXPECT_EQ(run({"wait", document["operation"]["id"].get<std::string>()}).status, 0);
    EXPECT_EQ(json({"inspect", document["sandbox"]["id"].get<std::string>()})["state"], "running");
}

// The document comes also when the create has failed; the error stands beside it.
TEST_F(Create, shows_a_failed_create_and_why) {
    const auto ended = run({"create", "--image", "no-such-image:local", "--json"});
    const auto document = nlohmann::json::parse(ended.out);
    const auto error = nlohmann::json::parse(ended.err)["error"];

    EXPECT_EQ(ended.status, 1);
    EXPECT_EQ(document["sandbox"]["state"], "failed");
    EXPECT_EQ(document["operation"]["state"], "failed");
    EXPECT_EQ(error["code"], "operation_failed");
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("no-such-image"));
    const auto human = run({"create", "--image", "no-such-image:local"});
    EXPECT_EQ(human.status, 1);
    EXPECT_EQ(human.out, "");
    EXPECT_THAT(human.err, StartsWith("sandbox: sandbox "));
}

// The server's rules, in the server's words.
TEST_F(Create, passes_on_what_the_server_refuses) {
    const auto error = json_error({"create", "--image", "two words", "--ttl", "1"});

    EXPECT_EQ(error["code"], "invalid_request");
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("image"));
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("ttl_seconds"));
}

}  // namespace
}  // namespace sandbox::test
