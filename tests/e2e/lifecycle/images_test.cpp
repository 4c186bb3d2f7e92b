// Images: one that is missing, one whose registry never answers, one without a shell.
#include <filesystem>
#include <fstream>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "fixture.hpp"

namespace sandbox::test {
namespace {

using testing::HasSubstr;

class Images : public Lifecycle {};

TEST_F(Images, a_missing_local_one_is_named) {
    const auto made = api().create({{"image", "sandbox-not-there:local"}});
    EXPECT_EQ(made["sandbox"]["state"], "failed");
    EXPECT_THAT(made["operation"]["error"].get<std::string>(), HasSubstr("sandbox-not-there:local"));
    EXPECT_EQ(engine_holds(made["sandbox"]["id"].get<std::string>()), "");
}

// A registry on loopback that takes connections and says nothing: nothing waits for the pull but its create.
TEST_F(Images, a_silent_registry_holds_up_nobody_else) {
    boost::asio::io_context io;
    boost::asio::ip::tcp::acceptor silent(io, {boost::asio::ip::make_address("127.0.0.1"), 0});
    const auto image = "127.0.0.1:" + std::to_string(silent.local_endpoint().port()) + "/thing:1";
    const auto reply =
        call(api().address(), "POST", "/v1/sandboxes", json{{"spec", {{"tenant", "acme"}, {"image", image}}}}.dump());
    ASSERT_EQ(reply.status, 201U);
    const auto operation = reply.json()["operation"]["id"].get<std::string>();
    const auto id = reply.json()["sandbox"]["id"].get<std::string>();
    EXPECT_TRUE(eventually(
        15s, [&] { return api().get("/v1/operations/" + operation).json()["operation"]["phase"] == "pulling image"; }));
    EXPECT_EQ(sh("echo meanwhile")["output"]["stdout"], "meanwhile\n");

    const auto started = std::chrono::steady_clock::now();
    EXPECT_EQ(api().destroy(id)["state"], "succeeded");
    EXPECT_LT(std::chrono::steady_clock::now() - started, 10s);
    EXPECT_EQ(api().wait(operation)["error"], "cancelled");
}

TEST_F(Images, one_static_program_and_no_shell_is_enough) {
    TemporaryDirectory root;
    const auto busybox = run_program({.argv = {"sh", "-c", "command -v busybox"}}).out;
    std::filesystem::copy_file(busybox.substr(0, busybox.find('\n')), root.path() + "/busybox");
    const auto image = "sandbox-test-bare-" + std::to_string(::getpid()) + ":local";
    const auto imported =
        run_program({.argv = {"sh", "-c", "tar -C \"$1\" -c busybox | docker import --change 'USER 65534' - \"$2\"",
                              "sh", root.path(), image}});
    ASSERT_EQ(imported.status, 0) << imported.err;

    const auto bare = api().running({{"image", image}});
    const auto written = api().run(bare, {"/busybox", "sh", "-c", "echo mine > /workspace/f; cat /workspace/f"});
    EXPECT_EQ(written["output"]["stdout"], "mine\n") << written.dump();
    EXPECT_EQ(api().run(bare, {"/busybox", "id", "-u"})["output"]["stdout"], "65534\n");
    EXPECT_EQ(api().destroy(bare)["state"], "succeeded");
    run_program({.argv = {"docker", "rmi", image}});
}

}  // namespace
}  // namespace sandbox::test
