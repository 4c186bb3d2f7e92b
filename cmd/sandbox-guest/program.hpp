#pragma once

#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include <sandbox/guest/messages.hpp>
#include <sandbox/guest/start.hpp>

namespace sandbox::guest {

/// "NAME=value" entries.
using Environment = std::vector<std::string>;

[[nodiscard]] Environment current_environment();
/// `base` with `changes` in place of what has the same names.
[[nodiscard]] Environment merge(const Environment& base, const Environment& changes);
[[nodiscard]] std::string_view value_of(const Environment& env, std::string_view name);

struct Directory {
    std::string path;
    mode_t mode = 0;
};
/// The directories that HOME and the XDG variables name, where they are below /workspace, parents first. They are made
/// for each command; what can't be made is left to whoever needs it.
[[nodiscard]] std::vector<Directory> home_directories(const Environment& env);

/// A program about to be run, with all that takes memory done: run() is called in a process that borrows its parent's,
/// and what it took there would never be given back. Neither `start` nor the texts in it may change or go before it.
class Program {
public:
    Program(const Start& start, const Environment& sandbox_env);

    /// Turns this process into the program: its directory, its environment, its PATH for the search. Returns only when
    /// that failed, and why.
    [[nodiscard]] Failed run() const;

private:
    const Start& start_;
    Environment env_;
    std::vector<Directory> directories_;
    std::vector<std::string> paths_;  // to try, one after the other
    std::vector<char*> argv_;
    std::vector<char*> envp_;
};

}  // namespace sandbox::guest
