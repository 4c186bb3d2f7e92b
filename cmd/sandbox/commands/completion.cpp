#include "../completion.hpp"

#include <memory>

#include "commands.hpp"

namespace sandbox::cli {
namespace {

constexpr std::string_view kBash = R"sh(# sandbox for bash: eval "$(sandbox completion bash)"
_sandbox() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("${line%%$'\t'*}")
    done < <("${COMP_WORDS[0]}" __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _sandbox sandbox
)sh";

constexpr std::string_view kZsh = R"sh(#compdef sandbox
# sandbox for zsh: eval "$(sandbox completion zsh)"
_sandbox() {
    local -a lines
    lines=("${(@f)$("${words[1]}" __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n ${lines[1]} ]]; then
        compadd -- "${(@)lines%%$'\t'*}"
    else
        _files
    fi
}
compdef _sandbox sandbox
)sh";

constexpr std::string_view kFish = R"sh(# sandbox for fish: sandbox completion fish | source
complete -c sandbox -f -a '(sandbox __complete -- (commandline -opc)[2..-1] (commandline -ct))'
complete -c sandbox -l env-file -r -F
complete -c sandbox -l ca-file -r -F
)sh";

Task<Outcome> show_stub(Session& session, std::string shell) {
    session.output().out(shell == "bash" ? kBash : shell == "zsh" ? kZsh : kFish);
    co_return kDone;
}

}  // namespace

void add_completion(CommandLine& line) {
    auto shell = std::make_shared<std::string>();
    auto& command = line.add(line.root(), "completion", "Print a shell's completion for this command",
                             {"eval \"$(sandbox completion bash)\"", "eval \"$(sandbox completion zsh)\"",
                              "sandbox completion fish | source"});
    command.add_option("SHELL", *shell, "bash, zsh or fish")
        ->type_name("")
        ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""))
        ->required();
    line.on_chosen(command,
                   [shell]() -> Action { return [shell](Session& session) { return show_stub(session, *shell); }; });
}

}  // namespace sandbox::cli
