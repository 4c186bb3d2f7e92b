// Many commands in one sandbox: all end right, and what they used is given back.
#include <algorithm>
#include <filesystem>
#include <thread>

#include "fixture.hpp"

namespace sandbox::test {
namespace {

class Many : public Lifecycle {
protected:
    static std::ptrdiff_t open_files(pid_t pid) {
        const std::filesystem::directory_iterator files("/proc/" + std::to_string(pid) + "/fd");
        return std::distance(begin(files), end(files));
    }
    [[nodiscard]] std::ptrdiff_t process_count() const { return std::ranges::count(processes(), '\n'); }
};

TEST_F(Many, sixty_four_commands_side_by_side_all_finish_right) {
    std::vector<std::string> ids;
    for (int i = 0; i < 64; ++i)
        ids.push_back(
            api()
                .enqueue(x(),
                         {{"argv",
                           {"sh", "-c", "sleep 1; echo " + std::to_string(i) + "; exit " + std::to_string(i)}}})["id"]
                .get<std::string>());
    for (int i = 0; i < 64; ++i) {
        const auto output = api().wait(ids[static_cast<std::size_t>(i)])["output"];
        EXPECT_EQ(output["stdout"], std::to_string(i) + "\n");
        EXPECT_EQ(output["exit_code"], i);
    }
}

// Half of them leave a child behind that ends a little later.
TEST_F(Many, a_thousand_commands_leave_nothing) {
    const auto pid = daemon_->process().pid();
    const auto round = [this](int commands) {
        std::vector<std::thread> clients;
        for (int c = 0; c < 8; ++c) {
            clients.emplace_back([this, commands] {
                for (int i = 0; i < commands / 8; ++i) {
                    const auto ended = sh(i % 2 == 0 ? "sleep 0.5 & exit 3" : "exit 3");
                    EXPECT_EQ(ended["output"]["exit_code"], 3) << ended.dump();
                }
            });
        }
        for (auto& client : clients) client.join();
    };
    round(80);  // warms up what is made once
    ASSERT_TRUE(eventually(15s, [&] { return process_count() <= 4; })) << processes();
    const auto processes_before = process_count();
    const auto files_before = open_files(pid);
    const auto memory_before = resident_mib(pid);

    round(1000);

    EXPECT_TRUE(eventually(15s, [&] { return process_count() <= processes_before; })) << processes();
    EXPECT_TRUE(eventually(15s, [&] { return open_files(pid) <= files_before + 2; })) << open_files(pid);
    // The records of a thousand operations stay with the controller, which is the same process here.
    EXPECT_LT(resident_mib(pid), memory_before + 12);
}

}  // namespace
}  // namespace sandbox::test
