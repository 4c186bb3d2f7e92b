#include <sstream>

#include "cli_fixture.hpp"

namespace sandbox::test {
namespace {

class Completion : public CliTest {
protected:
    /// The words alone, without descriptions.
    [[nodiscard]] Words complete(Words words) const {
        words.insert(words.begin(), {"__complete", "--"});
        std::istringstream lines(run(std::move(words)).out);
        Words candidates;
        for (std::string line; std::getline(lines, line);) candidates.push_back(line.substr(0, line.find('\t')));
        return candidates;
    }
};

TEST_F(Completion, knows_commands_options_and_values) {
    EXPECT_THAT(complete({"ex"}), ElementsAre("exec", "extend"));
    EXPECT_THAT(complete({"node", ""}), ElementsAre("list", "drain", "undrain"));
    EXPECT_THAT(complete({"create", "--net"}), ElementsAre("--network"));
    EXPECT_THAT(complete({"create", "--network", ""}), ElementsAre("deny", "restricted", "open"));
    EXPECT_THAT(complete({"agent", "run", "co"}), ElementsAre("codex", "commandcode"));
    EXPECT_THAT(complete({"exec", "abcdef12", "--", "--"}), IsEmpty());
}

TEST_F(Completion, knows_the_ids_that_the_server_has) {
    const auto id = sandbox();
    EXPECT_THAT(complete({"inspect", id.substr(0, 30)}), ElementsAre(id));
    EXPECT_THAT(complete({"exec", "--timeout", "3", id.substr(0, 30)}), ElementsAre(id));
}

// What can't be done any more is not offered.
TEST_F(Completion, offers_only_what_is_still_live) {
    const auto gone = sandbox();
    const auto live = sandbox();
    const auto operation = json({"delete", gone})["id"].get<std::string>();
    const auto running = json({"exec", live, "--no-wait", "--", "sleep", "600"})["id"].get<std::string>();

    for (const auto* command : {"exec", "delete", "extend"}) {
        EXPECT_THAT(complete({command, gone}), IsEmpty()) << command;
        EXPECT_THAT(complete({command, live}), ElementsAre(live)) << command;
    }
    EXPECT_THAT(complete({"inspect", gone}), ElementsAre(gone));
    for (const auto* command : {"wait", "cancel"}) {
        EXPECT_THAT(complete({command, operation}), IsEmpty()) << command;
        EXPECT_THAT(complete({command, running}), ElementsAre(running)) << command;
    }
    EXPECT_EQ(run({"cancel", running}).status, 0);
}

TEST_F(Completion, is_silent_and_quick_without_a_server) {
    EXPECT_THAT(complete({"inspect", "--server", "http://127.0.0.1:9", ""}), IsEmpty());
}

// The stub as a person's bash would use it.
TEST_F(Completion, works_in_bash) {
    auto start = start_of({});
    start.argv = {"bash", "-c",
                  "eval \"$(" + program("sandbox") + " completion bash)\"; COMP_WORDS=(" + program("sandbox") +
                      " create --netw) COMP_CWORD=2; _sandbox; echo \"${COMPREPLY[@]}\""};
    EXPECT_EQ(run_program(start).out, "--network\n");
}

}  // namespace
}  // namespace sandbox::test
