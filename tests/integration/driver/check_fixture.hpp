#pragma once

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "driver_fixture.hpp"

namespace sandbox::test {

/// sandbox-driver-check as a driver's author runs it, with temporary files of its own.
class DriverCheck : public DriverTest {
protected:
    [[nodiscard]] Start start_of(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), program("sandbox-driver-check"));
        return {.argv = std::move(arguments), .environment = {{"TMPDIR", temporary_.path()}}};
    }
    [[nodiscard]] Ended check(std::vector<std::string> arguments) const {
        return run_program(start_of(std::move(arguments)), std::chrono::minutes(2));
    }
    /// The test driver behind a script of this test's own; `own` is what it does itself, as branches of a case. Each
    /// action is written to a file first.
    [[nodiscard]] std::string test_driver_but(const std::string& own) {
        return script("echo \"$1\" >> '" + state() + "/actions'\ncase $1 in\n" + own +
                      "\n*) printf %s \"$request\" | '" + fixture("test-driver") + "' \"$1\" ;;\nesac");
    }
    /// What the program has not removed of its temporary files.
    [[nodiscard]] std::vector<std::string> temporary_files() const {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(temporary_.path()))
            names.push_back(entry.path().filename().string());
        return names;
    }
    [[nodiscard]] bool is_doing(const std::string& action) const { return written("actions").ends_with(action + "\n"); }
    /// Whether the driver has made this file in its state directory.
    [[nodiscard]] bool was_written(const std::string& name) const {
        const auto directories = temporary_files();
        return std::ranges::any_of(directories, [&](const std::string& directory) {
            return std::filesystem::exists(std::filesystem::path(temporary_.path()) / directory / name);
        });
    }
    /// How many processes of the test driver's sandboxes run: they are where its files are, or were.
    [[nodiscard]] std::size_t in_sandboxes() const {
        std::size_t count = 0;
        std::error_code error;
        for (const auto& process : std::filesystem::directory_iterator("/proc", error))
            if (std::filesystem::read_symlink(process.path() / "cwd", error).string().starts_with(temporary_.path()))
                ++count;
        return count;
    }

    TemporaryDirectory temporary_;
};

}  // namespace sandbox::test
