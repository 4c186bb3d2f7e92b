// Images that are not on the host, with a registry of the test's own on loopback.
#include <chrono>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <sandbox/http/router.hpp>
#include <sandbox/http/server.hpp>

#include "docker_fixture.hpp"

namespace sandbox::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Answers everything under /v2/ with one status, or never.
class Registry {
public:
    Registry(asio::io_context& io, Random& random, std::optional<unsigned> status)
        : router_([](unsigned code, std::string, const std::string&) { return answer(code); }),
          server_(io.get_executor(), {}, router_, random) {
        for (const char* pattern : {"/v2/", "/v2/{a}/manifests/{b}"}) {
            http::Route route;
            route.method = "GET";
            route.pattern = pattern;
            route.handler = [status](http::Request) { return answer_or_keep_silent(status); };
            router_.add(std::move(route));
        }
        EXPECT_TRUE(server_.listen());
        server_.start();
    }
    [[nodiscard]] std::string image() const { return server_.address() + "/tool:1"; }
    Task<void> stop() { return server_.stop(in(0s)); }

private:
    static Task<http::Response> answer_or_keep_silent(std::optional<unsigned> status) {
        if (!status) {
            asio::steady_timer timer(co_await asio::this_coro::executor, 120s);
            co_await timer.async_wait(asio::use_awaitable);
        }
        co_return answer(status.value_or(500));
    }
    static http::Response answer(unsigned status) {
        http::Response response;
        response.status = status;
        response.headers.set("Docker-Distribution-Api-Version", "registry/2.0");
        response.headers.set("Content-Type", "application/json");
        const char* code = status == 401 ? "UNAUTHORIZED" : "MANIFEST_UNKNOWN";
        if (status == 401) response.headers.set("WWW-Authenticate", "Basic realm=\"test\"");
        response.body = fmt::format(R"({{"errors":[{{"code":"{}","message":"said by the test"}}]}})", code);
        return response;
    }

    http::Router router_;
    http::Server server_;
};

class DockerPullTest : public DockerTest {
protected:
    /// The error of a create with an image of a registry that answers so.
    Error error_with(std::optional<unsigned> status) {
        Registry registry(io_, random_, status);
        auto spec = small();
        spec.image = registry.image();
        auto created = create(new_id(), spec);
        EXPECT_THAT(phases_, ElementsAre("creating", "pulling image"));
        EXPECT_THAT(held(), IsEmpty());
        wait(registry.stop());
        return created ? Error(Code::internal, "it was created") : created.error();
    }
};

TEST_F(DockerPullTest, says_that_an_image_does_not_exist) {
    auto error = error_with(404);
    EXPECT_EQ(error.code(), Code::not_found) << error.message();
    EXPECT_THAT(error.message(), HasSubstr("does not exist in registry 127.0.0.1:"));
}

TEST_F(DockerPullTest, says_that_a_login_was_refused) {
    auto error = error_with(401);
    EXPECT_EQ(error.code(), Code::permission_denied) << error.message();
    EXPECT_THAT(error.message(), HasSubstr("log in"));
}

TEST_F(DockerPullTest, says_that_a_registry_is_not_reached) {
    auto spec = small();
    spec.image = "127.0.0.1:9/tool:1";
    auto created = create(new_id(), spec);
    ASSERT_FALSE(created);
    EXPECT_EQ(created.error().code(), Code::unavailable);
    EXPECT_THAT(created.error().message(), HasSubstr("registry 127.0.0.1:9 can't be reached"));
    EXPECT_THAT(held(), IsEmpty());
}

// A registry that keeps silent: nothing else waits for it, and the sandbox can be deleted meanwhile.
TEST_F(DockerPullTest, can_be_deleted_while_a_registry_keeps_silent) {
    Registry registry(io_, random_, std::nullopt);
    auto spec = small();
    spec.image = registry.image();
    auto id = new_id();
    std::string phase;
    auto creating =
        begin(runtime_->create(id, spec, domain::Tier::container, [&](std::string_view now) { phase = now; }));
    ASSERT_TRUE(eventually(5s, [&] { return phase == "pulling image"; }));
    eventually(200ms, [] { return false; });
    EXPECT_EQ(shell(running(), "echo meanwhile"), "meanwhile\n");
    auto begun = std::chrono::steady_clock::now();
    EXPECT_TRUE(wait(runtime_->destroy(id)));
    ASSERT_TRUE(eventually(1s, [&] { return creating->has_value(); }));
    EXPECT_EQ((**creating).error().code(), Code::cancelled);
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 2s);
    wait(registry.stop());
}

TEST_F(DockerPullTest, gives_a_pull_a_time_limit_of_its_own) {
    Registry registry(io_, random_, std::nullopt);
    wait(runtime_->stop(in(5s)));
    auto impatient = settings();
    impatient.image_pull_timeout = 1s;
    runtime_ = runtime::create_docker_runtime(io_.get_executor(), impatient);
    auto spec = small();
    spec.image = registry.image();
    auto created = create(new_id(), spec);
    ASSERT_FALSE(created);
    EXPECT_EQ(created.error().code(), Code::deadline_exceeded) << created.error().message();
    EXPECT_THAT(created.error().message(), HasSubstr("took longer"));
    wait(registry.stop());
}

}  // namespace
}  // namespace sandbox::test
