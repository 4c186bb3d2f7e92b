#include <csignal>

#include "command_line.hpp"

int main(int argc, char** argv) {
    // A peer that goes away is an error of the write, never a signal.
    std::signal(SIGPIPE, SIG_IGN);
    return sandbox::sandboxd::run(argc, argv);
}
