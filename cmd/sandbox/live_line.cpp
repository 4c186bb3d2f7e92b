#include "live_line.hpp"

#include <chrono>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include <sandbox/base/text.hpp>

#include "output.hpp"
#include "text.hpp"

namespace sandbox::cli {
namespace {

using namespace std::chrono_literals;

/// Shorter waits show nothing.
constexpr auto kMoment = 500ms;
constexpr std::string_view kClearLine = "\r\x1b[K";

std::size_t terminal_columns() {
    winsize size{};
    if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20) return 80;
    return size.ws_col;
}

}  // namespace

struct LiveLine::State : std::enable_shared_from_this<State> {
    explicit State(boost::asio::any_io_executor executor) : timer(std::move(executor)) {}

    boost::asio::steady_timer timer;
    std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
    std::string text;
    bool visible = false;
    bool over = false;

    void draw() {
        const auto seconds = std::chrono::floor<std::chrono::seconds>(std::chrono::steady_clock::now() - begun);
        const auto line = fmt::format("{}… {} s", text, seconds.count());
        write_all(STDERR_FILENO, std::string(kClearLine) + shortened(line, terminal_columns() - 1));
        visible = true;
    }

    void draw_after(std::chrono::milliseconds pause) {
        timer.expires_after(pause);
        timer.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
            if (error || self->over) return;
            self->draw();
            self->draw_after(1s);
        });
    }
};

LiveLine::LiveLine(boost::asio::any_io_executor executor, bool shown, std::string text) {
    if (!shown) return;
    state_ = std::make_shared<State>(std::move(executor));
    state_->text = printable_line(text);
    state_->draw_after(kMoment);
}

LiveLine::~LiveLine() {
    if (!state_) return;
    state_->over = true;
    state_->timer.cancel();
    if (state_->visible) write_all(STDERR_FILENO, kClearLine);
}

void LiveLine::say(std::string text) {
    if (!state_) return;
    text = printable_line(text);
    if (text == state_->text) return;
    state_->text = std::move(text);
    if (state_->visible) state_->draw();
}

}  // namespace sandbox::cli
