#include "output.hpp"

#include <cerrno>
#include <cstdlib>
#include <poll.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include <sandbox/base/json_reader.hpp>

namespace sandbox::cli {
namespace {

bool dumb_terminal() {
    const char* term = std::getenv("TERM");
    return term == nullptr || std::string_view(term) == "dumb";
}

bool wants_colors(ColorChoice choice) {
    if (choice != ColorChoice::automatic) return choice == ColorChoice::always;
    const char* no_color = std::getenv("NO_COLOR");
    const bool refused = no_color != nullptr && *no_color != '\0';
    return !refused && !dumb_terminal() && ::isatty(STDOUT_FILENO) == 1;
}

std::string as_note(std::string_view text) {
    return "sandbox: " + printable(text) + "\n";
}

}  // namespace

bool write_all(int descriptor, std::string_view bytes) {
    while (!bytes.empty()) {
        const auto written = ::write(descriptor, bytes.data(), bytes.size());
        if (written > 0) {
            bytes.remove_prefix(static_cast<std::size_t>(written));
        } else if (written < 0 && errno == EAGAIN) {
            // Somebody else's non-blocking mode on a shared terminal or pipe.
            pollfd ready{.fd = descriptor, .events = POLLOUT, .revents = 0};
            ::poll(&ready, 1, -1);
        } else if (written < 0 && errno != EINTR) {
            return false;
        }
    }
    return true;
}

Output::Output(bool json, bool quiet, ColorChoice color)
    : json_(json),
      quiet_(quiet),
      colors_(wants_colors(color)),
      live_(!json && !quiet && !dumb_terminal() && ::isatty(STDERR_FILENO) == 1) {}

void Output::document(const nlohmann::json& json) {
    out_ += dump_json_pretty(json);
    out_ += '\n';
}

void Output::note(std::string_view text) const {
    if (!json_ && !quiet_) write_all(STDERR_FILENO, as_note(text));
}

void Output::closing_note(std::string_view text) {
    if (!json_ && !quiet_) err_ += as_note(text);
}

void Output::discard() {
    out_.clear();
    err_.clear();
}

Output::Flushed Output::flush() {
    const bool whole = write_all(STDOUT_FILENO, out_);
    const int number = errno;
    const bool errors_whole = write_all(STDERR_FILENO, err_);
    if (!whole) errno = number;
    discard();
    if (!whole) return Flushed::output_lost;
    return errors_whole ? Flushed::whole : Flushed::errors_lost;
}

}  // namespace sandbox::cli
