#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <sandbox/base/log.hpp>
#include <sandbox/base/text.hpp>
#include <sandbox/base/time.hpp>

namespace sandbox::log {
namespace {

constexpr std::size_t kLineLimit = 16 * 1024;
constexpr std::string_view kEllipsis = "…";

std::atomic<Format> chosen_format{Format::text};

spdlog::level::level_enum to_spdlog(Level level) noexcept {
    switch (level) {
        case Level::trace:
            return spdlog::level::trace;
        case Level::debug:
            return spdlog::level::debug;
        case Level::info:
            return spdlog::level::info;
        case Level::warn:
            return spdlog::level::warn;
        case Level::error:
            return spdlog::level::err;
        case Level::critical:
            return spdlog::level::critical;
    }
    return spdlog::level::critical;
}

std::string_view name(Level level) noexcept {
    constexpr std::string_view kNames[] = {"trace", "debug", "info", "warn", "error", "critical"};
    return kNames[static_cast<std::size_t>(level)];
}

/// Never destroyed: threads may log while the process ends.
spdlog::logger& logger() {
    static auto* instance = [] {
        auto* made = new spdlog::logger("sandbox", std::make_shared<spdlog::sinks::stderr_sink_mt>());
        made->set_pattern("%v");
        made->set_level(spdlog::level::warn);
        return made;
    }();
    return *instance;
}

/// A line under construction that never grows past the limit.
class Line {
public:
    /// Adds as it is; only for the few bytes between the parts.
    void raw(std::string_view text) { text_ += text; }

    /// Adds the text with control characters, quotes and backslashes escaped as JSON does, as far as there is room.
    void escaped(std::string_view text) { add(text, true); }
    /// The same with quotes and backslashes left as they are, for people.
    void readable(std::string_view text) { add(text, false); }

    [[nodiscard]] bool full() const { return text_.size() + 2 * kReserve > kLineLimit; }
    std::string finish(std::string_view end) {
        text_ += end;
        return std::move(text_);
    }

private:
    /// Kept free for what `raw` and `finish` add after the last part.
    static constexpr std::size_t kReserve = 64;

    void add(std::string_view text, bool quotable) {
        auto room = kLineLimit - kReserve > text_.size() ? kLineLimit - kReserve - text_.size() : 0;
        bool cut = text.size() > room;
        // A character more than fits, so that none is split before it is checked.
        auto clean = to_utf8(text.substr(0, room + 4));
        for (std::size_t at = 0; at < clean.size();) {
            std::size_t length = 1;
            while (at + length < clean.size() && (static_cast<unsigned char>(clean[at + length]) & 0xc0) == 0x80)
                ++length;
            auto piece = escape(std::string_view(clean).substr(at, length), quotable);
            if (text_.size() + piece.size() + kReserve > kLineLimit) {
                cut = true;
                break;
            }
            text_ += piece;
            at += length;
        }
        if (cut) text_ += kEllipsis;
    }

    static std::string escape(std::string_view character, bool quotable) {
        char c = character.front();
        switch (c) {
            case '"':
            case '\\':
                return quotable ? std::string{'\\', c} : std::string{c};
            case '\n':
                return "\\n";
            case '\r':
                return "\\r";
            case '\t':
                return "\\t";
            default:
                if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return fmt::format("\\u{:04x}", c);
                // C1 controls, which terminals obey: U+0080 to U+009F.
                if (character.size() == 2 && c == '\xc2' && static_cast<unsigned char>(character[1]) < 0xa0)
                    return fmt::format("\\u{:04x}", static_cast<unsigned char>(character[1]));
                return std::string(character);
        }
    }

    std::string text_;
};

Timestamp now() {
    return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
}

std::string json_line(Level level, std::string_view message, std::initializer_list<Field> fields) {
    Line line;
    line.raw(fmt::format(R"({{"time":"{}","level":"{}","message":")", format_time(now()), name(level)));
    line.escaped(message);
    line.raw("\"");
    for (const auto& [key, value] : fields) {
        if (line.full()) return line.finish(R"(,"cut":true})");
        line.raw(",\"");
        line.escaped(key);
        line.raw("\":\"");
        line.escaped(value);
        line.raw("\"");
    }
    return line.finish("}");
}

std::string text_line(Level level, std::string_view message, std::initializer_list<Field> fields) {
    Line line;
    line.raw(fmt::format("{} {:<5} ", format_time(now()), name(level)));
    line.readable(message);
    for (const auto& [key, value] : fields) {
        if (line.full()) return line.finish(" …");
        bool quoted = value.empty() || value.find_first_of(" \"\\=\n\r\t") != std::string::npos;
        line.raw(" ");
        line.escaped(key);
        line.raw(quoted ? "=\"" : "=");
        line.escaped(value);
        line.raw(quoted ? "\"" : "");
    }
    return line.finish("");
}

}  // namespace

void configure(Level level, Format format) {
    std::signal(SIGPIPE, SIG_IGN);
    chosen_format = format;
    logger().set_level(to_spdlog(level));
}

bool enabled(Level level) noexcept {
    return logger().should_log(to_spdlog(level));
}

void write(Level level, std::string_view message, std::initializer_list<Field> fields) {
    if (!enabled(level)) return;
    auto line = chosen_format == Format::json ? json_line(level, message, fields) : text_line(level, message, fields);
    logger().log(to_spdlog(level), spdlog::string_view_t(line));
}

}  // namespace sandbox::log
