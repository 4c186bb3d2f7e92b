#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace sandbox::log {

enum class Level { trace, debug, info, warn, error, critical };
enum class Format { json, text };

/// Sets level and format of the process's one log on standard error. Before this, warnings and worse go out as text.
/// Call it from main before other threads start. Also has SIGPIPE ignored, so that a log reader that goes away, like
/// any peer, is a failed write and not the end of the process.
void configure(Level level, Format format);

/// A field of a log line, as in {"request_id", id}.
using Field = std::pair<std::string_view, std::string>;

/// Writes one line: JSON {"time","level","message",fields…} or "time LEVEL message key=value". Bytes that are not
/// UTF-8 are replaced, control characters escaped, and a line is cut to 16 KiB. Any thread.
void write(Level level, std::string_view message, std::initializer_list<Field> fields = {});

[[nodiscard]] bool enabled(Level level) noexcept;

inline void debug(std::string_view message, std::initializer_list<Field> fields = {}) {
    write(Level::debug, message, fields);
}
inline void info(std::string_view message, std::initializer_list<Field> fields = {}) {
    write(Level::info, message, fields);
}
inline void warn(std::string_view message, std::initializer_list<Field> fields = {}) {
    write(Level::warn, message, fields);
}
inline void error(std::string_view message, std::initializer_list<Field> fields = {}) {
    write(Level::error, message, fields);
}
inline void critical(std::string_view message, std::initializer_list<Field> fields = {}) {
    write(Level::critical, message, fields);
}

}  // namespace sandbox::log
