#include "docker/engine_answers.hpp"

#include <gtest/gtest.h>

#include <sandbox/base/text.hpp>

namespace sandbox::runtime::docker {
namespace {

http::Response response(unsigned status, std::string body) {
    http::Response answer;
    answer.status = status;
    answer.body = std::move(body);
    return answer;
}

std::string api_of(const std::string& newest, const std::string& oldest) {
    auto version =
        read_version(R"({"Version":"1.2","ApiVersion":")" + newest + R"(","MinAPIVersion":")" + oldest + "\"}");
    return version ? version->api : version.error().message();
}

// We speak the newest version that both know, whatever its number has for digits.
TEST(EngineAnswers, decides_for_an_api_version) {
    EXPECT_EQ(api_of("1.41", "1.12"), "1.41");
    EXPECT_EQ(api_of("1.40", "1.12"), "1.40");
    EXPECT_EQ(api_of("1.51", "1.24"), "1.44");
    EXPECT_EQ(api_of("1.100", "1.44"), "1.44");
    EXPECT_EQ(api_of("1.60", "1.50"), "1.50");
    EXPECT_NE(api_of("1.39", "1.12").find("1.40"), std::string::npos);
    EXPECT_NE(api_of("1.9", "1.5").find("1.40"), std::string::npos);
    EXPECT_NE(api_of("one", "1.12").find("no API version"), std::string::npos);
    EXPECT_NE(api_of("1.-4", "1.12").find("no API version"), std::string::npos);
}

TEST(EngineAnswers, reads_the_engines_name_and_version) {
    auto version = read_version(
        R"({"Components":[{"Name":"containerd","Version":"1"},{"Name":"Podman Engine","Version":"4.3"}],
            "Version":"4.3.1","ApiVersion":"1.41","MinAPIVersion":"1.24"})");
    ASSERT_TRUE(version);
    EXPECT_EQ(version->name, "Podman Engine");
    EXPECT_EQ(version->version, "4.3.1");
}

TEST(EngineAnswers, reads_what_the_host_is_like) {
    auto info = read_info(R"({"NCPU":8,"KernelVersion":"6.1","Runtimes":{"runc":{"path":"runc"},"runsc":{}},
                             "SecurityOptions":["name=seccomp,profile=default"]})");
    ASSERT_TRUE(info) << info.error().message();
    EXPECT_EQ(info->cpus, 8);
    EXPECT_EQ(info->runtimes, (std::vector<std::string>{"runc", "runsc"}));
    EXPECT_FALSE(info->rootless);
    EXPECT_TRUE(read_info(R"({"SecurityOptions":["name=seccomp","name=rootless"]})")->rootless);
    EXPECT_TRUE(read_info(R"({"SecurityOptions":null,"Runtimes":null})"));
}

TEST(EngineAnswers, reads_an_inspected_container) {
    auto container = read_container(
        R"({"Id":"abc","Name":"/sandbox-x","Config":{"Labels":{"sandbox.dev/id":"x"},"User":""},
            "State":{"Status":"exited","Running":false,"ExitCode":137,"OOMKilled":true,"Error":"a\nb"}})");
    ASSERT_TRUE(container) << container.error().message();
    EXPECT_EQ(container->name, "sandbox-x");
    EXPECT_EQ(container->label("sandbox.dev/id"), "x");
    EXPECT_EQ(container->label("sandbox.dev/node"), "");
    EXPECT_FALSE(container->running());
    EXPECT_EQ(container->exit_code, 137);
    EXPECT_TRUE(container->oom_killed);
    EXPECT_EQ(container->error, "a b");
}

TEST(EngineAnswers, reads_lists) {
    auto containers = read_containers(
        R"([{"Id":"a","Names":["/n"],"State":"running","Labels":{"l":"v"}},{"Id":"b","Names":null,"State":"created","Labels":null}])");
    ASSERT_TRUE(containers);
    ASSERT_EQ(containers->size(), 2U);
    EXPECT_TRUE((*containers)[0].running());
    EXPECT_FALSE((*containers)[1].running());
    auto volumes = read_volumes(R"({"Volumes":[{"Name":"v","Mountpoint":"/m","Labels":null}],"Warnings":null})");
    ASSERT_TRUE(volumes);
    EXPECT_EQ(volumes->at(0).mountpoint, "/m");
    EXPECT_TRUE(read_volumes(R"({"Volumes":null})")->empty());
    EXPECT_EQ(
        *read_image_names(R"([{"RepoTags":["a:1","<none>:<none>"],"RepoDigests":["a@sha256:00"]},{"RepoTags":null}])"),
        (std::vector<std::string>{"a:1", "a@sha256:00"}));
}

// The bridge's name on the host, which the network guard needs.
TEST(EngineAnswers, names_a_networks_bridge) {
    auto networks = read_networks(
        R"([{"Id":"0123456789abcdef","Name":"a","Driver":"bridge","Internal":true,"Options":{},"Labels":{},
              "IPAM":{"Driver":"default","Options":null,"Config":[{"Subnet":"172.18.0.0/16","Gateway":"172.18.0.1"}]}},
            {"Id":"1123456789abcdef","Name":"b","Driver":"bridge","Options":{"com.docker.network.bridge.name":"docker0"}},
            {"Id":"2123456789abcdef","Name":"c","Driver":"overlay","Options":null}])");
    ASSERT_TRUE(networks);
    EXPECT_EQ((*networks)[0].bridge, "br-0123456789ab");
    EXPECT_TRUE((*networks)[0].internal);
    EXPECT_EQ((*networks)[0].gateway, "172.18.0.1");
    EXPECT_EQ((*networks)[1].gateway, "");
    EXPECT_EQ((*networks)[1].bridge, "docker0");
    EXPECT_EQ((*networks)[2].bridge, "");
}

// What is no answer of an engine is an error, whatever it is instead.
TEST(EngineAnswers, refuses_what_makes_no_sense) {
    for (const char* body : {"", "null", "[]", "{}", "7", R"({"Id":7})", R"({"Id":"x/../y"})", R"({"Id":""})",
                             R"({"Id":"a","Id":"b"})", "{\"Id\":\"ab\xFF\"}", R"({"Id":"a"} trailing)"}) {
        auto id = read_id(body);
        ASSERT_FALSE(id) << body;
        EXPECT_EQ(id.error().code(), Code::unavailable);
        EXPECT_LE(id.error().message().size(), 500U);
    }
    EXPECT_FALSE(read_id("{\"Id\":\"" + std::string(200, 'a') + "\"}"));
    EXPECT_FALSE(read_container(R"({"Id":"a","State":{"Status":"exited","ExitCode":1e30}})"));
    EXPECT_FALSE(read_container(R"({"Id":"a","State":{"Status":"exited","ExitCode":99999999999}})"));
    EXPECT_FALSE(read_container(R"({"Id":"a","State":null})"));
    EXPECT_FALSE(read_containers(R"({"Id":"a"})"));
    EXPECT_FALSE(read_containers(R"(["a"])"));
    EXPECT_FALSE(read_volumes(R"({"Volumes":{"a":1}})"));
    EXPECT_FALSE(read_exec(R"({"Running":"no"})"));
    EXPECT_FALSE(read_id(std::string(100'000, '[')));
}

// What the engine says reaches the operator as one bounded line with the right code.
TEST(EngineAnswers, makes_bounded_sentences_of_refusals) {
    auto error = error_of(response(404, R"({"message":"No such image: x\ny"})"), "create the container");
    EXPECT_EQ(error.code(), Code::not_found);
    EXPECT_EQ(error.message(), "create the container: No such image: x y");
    EXPECT_EQ(error_of(response(409, "{}"), "a").code(), Code::conflict);
    EXPECT_EQ(error_of(response(403, ""), "a").code(), Code::permission_denied);
    EXPECT_EQ(error_of(response(500, ""), "a").message(), "a: the engine answered with status 500");
    auto loud = error_of(response(500, std::string(1 << 20, '\x1B') + "\xFF"), "a");
    EXPECT_LE(loud.message().size(), 400U);
    EXPECT_TRUE(is_utf8(loud.message()));
    auto long_text = error_of(response(500, R"({"message":")" + std::string(100'000, 'x') + "\"}"), "a");
    EXPECT_LE(long_text.message().size(), 400U);
}

TEST(EngineAnswers, reads_events_and_pull_progress) {
    auto event = read_event(
        R"({"Type":"container","Action":"die","Actor":{"ID":"abc","Attributes":{"exitCode":"137"}},"time":1})");
    ASSERT_TRUE(event);
    EXPECT_EQ(event->action, "die");
    EXPECT_EQ(event->container, "abc");
    EXPECT_EQ(event->attributes.at("exitCode"), "137");
    EXPECT_FALSE(read_event("x"));
    EXPECT_EQ(read_pull_error(R"({"status":"Pulling fs layer","id":"a"})"), std::nullopt);
    EXPECT_EQ(read_pull_error(R"({"errorDetail":{"message":"m"},"error":"m"})"), "m");
    EXPECT_EQ(read_pull_error("half a li"), std::nullopt);
}

TEST(EngineAnswers, reads_a_files_size_from_a_header) {
    http::Response head;
    EXPECT_EQ(read_path_size(head), std::nullopt);
    head.headers.set("X-Docker-Container-Path-Stat", base64_encode(R"({"name":"a","size":42,"mode":365})"));
    EXPECT_EQ(read_path_size(head), 42);
    head.headers.set("X-Docker-Container-Path-Stat", "!!");
    EXPECT_EQ(read_path_size(head), std::nullopt);
}

}  // namespace
}  // namespace sandbox::runtime::docker
