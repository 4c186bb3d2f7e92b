#include "docker/image_reference.hpp"

#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sandbox/base/text.hpp>

#include "docker/images.hpp"

namespace sandbox::runtime::docker {
namespace {

std::string parts(std::string_view text) {
    auto image = ImageReference::parse(text);
    return image.registry + " " + image.repository + " " + image.tag;
}

TEST(ImageReference, takes_a_name_apart) {
    EXPECT_EQ(parts("debian"), "docker.io debian latest");
    EXPECT_EQ(parts("debian:12"), "docker.io debian 12");
    EXPECT_EQ(parts("acme/tool:1"), "docker.io acme/tool 1");
    EXPECT_EQ(parts("ghcr.io/acme/tool"), "ghcr.io ghcr.io/acme/tool latest");
    EXPECT_EQ(parts("localhost/tool:x"), "localhost localhost/tool x");
    EXPECT_EQ(parts("127.0.0.1:5000/tool"), "127.0.0.1:5000 127.0.0.1:5000/tool latest");
    EXPECT_EQ(parts("127.0.0.1:5000/tool:2"), "127.0.0.1:5000 127.0.0.1:5000/tool 2");
    EXPECT_EQ(parts("a.b/c:1@sha256:00ff"), "a.b a.b/c sha256:00ff");
}

// Only the tag decides: a registry's port or a name that ends so does not.
TEST(ImageReference, knows_local_images) {
    EXPECT_TRUE(ImageReference::parse("sandbox-base-busybox:local").is_local());
    EXPECT_TRUE(ImageReference::parse("127.0.0.1:5000/a/b:local").is_local());
    EXPECT_FALSE(ImageReference::parse("a:locals").is_local());
    EXPECT_FALSE(ImageReference::parse("a/local").is_local());
    EXPECT_FALSE(ImageReference::parse("a:local@sha256:00").is_local());
}

nlohmann::json decoded(const Secret& header) {
    auto text = header.reveal();
    std::ranges::replace(text, '-', '+');
    std::ranges::replace(text, '_', '/');
    return nlohmann::json::parse(base64_decode(text).value_or("null"));
}

TEST(RegistryCredentials, come_from_the_client_configuration) {
    auto config = R"({"auths": {"https://index.docker.io/v1/": {"auth": ")" + base64_encode("hub:p:w") +
                  R"("}, "ghcr.io": {"identitytoken": "t"}, "empty.io": {}}})";
    auto hub = decoded(registry_credentials(config, "docker.io"));
    EXPECT_EQ(hub.at("username"), "hub");
    EXPECT_EQ(hub.at("password"), "p:w");
    EXPECT_EQ(decoded(registry_credentials(config, "ghcr.io")).at("identitytoken"), "t");
    EXPECT_TRUE(registry_credentials(config, "empty.io").empty());
    EXPECT_TRUE(registry_credentials(config, "quay.io").empty());
}

TEST(RegistryCredentials, are_none_when_the_configuration_makes_no_sense) {
    for (const char* config : {"", "[]", "{", R"({"auths": 7})", R"({"auths": {"a.io": "x"}})",
                               R"({"auths": {"a.io": {"auth": "!!"}}})", R"({"auths": {"a.io": {"auth": "YQ=="}}})"})
        EXPECT_TRUE(registry_credentials(config, "a.io").empty()) << config;
}

Error said(Code code, const char* message) {
    return pull_error(ImageReference::parse("reg.example:5000/x:1"), "reg.example:5000/x:1", Error(code, message));
}

// Missing, refused and unreachable are three different things to do something about.
TEST(PullError, tells_three_causes_apart) {
    EXPECT_EQ(said(Code::not_found, "manifest for reg.example:5000/x:1 not found: manifest unknown").code(),
              Code::not_found);
    EXPECT_EQ(said(Code::unavailable, "manifest unknown").message(),
              "image reg.example:5000/x:1 does not exist in registry reg.example:5000");
    EXPECT_EQ(said(Code::not_found, "pull access denied for x, repository does not exist or may require 'docker login'")
                  .code(),
              Code::permission_denied);
    EXPECT_EQ(said(Code::unavailable, "Head \"http://r/v2/\": unauthorized: authentication required").code(),
              Code::permission_denied);
    auto unreachable =
        said(Code::unavailable, "Get \"http://r/v2/\": dial tcp 127.0.0.1:9: connect: connection refused");
    EXPECT_EQ(unreachable.code(), Code::unavailable);
    EXPECT_NE(unreachable.message().find("can't be reached"), std::string::npos);
    EXPECT_EQ(said(Code::deadline_exceeded, "x").code(), Code::deadline_exceeded);
    EXPECT_EQ(said(Code::cancelled, "x").code(), Code::cancelled);
    EXPECT_EQ(said(Code::unavailable, "no space left on device").message(),
              "image reg.example:5000/x:1: no space left on device");
}

// A missing image of the project's own is built where the worker is, by a command that there is.
TEST(HowToBuild, names_only_what_can_be_built) {
    for (const std::string agent : {"codex", "claude", "opencode", "pi"})
        EXPECT_EQ(how_to_build("sandbox-agent-" + agent + ":local"),
                  "; build it on the worker with ./scripts/build-agent-image.sh " + agent);
    EXPECT_EQ(how_to_build("sandbox-base-busybox:local"),
              "; build it on the worker with ./scripts/build-base-image.sh");
    for (const auto* other :
         {"sandbox-agent-nobody:local", "sandbox-agent-goose:local", "sandbox-agent-commandcode:local",
          "sandbox-agent-claude-x:local", "sandbox-agent-:local", "mine:local", ""})
        EXPECT_EQ(how_to_build(other), "") << other;
}

}  // namespace
}  // namespace sandbox::runtime::docker
