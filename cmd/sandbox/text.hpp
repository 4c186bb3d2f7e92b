#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sandbox/base/time.hpp>

namespace sandbox::cli {

/// Text from outside made fit for a terminal: control characters (C0, DEL, C1) become visible escapes such as \x1b,
/// ill-formed UTF-8 becomes U+FFFD. Line feed and tab stay.
[[nodiscard]] std::string printable(std::string_view text);
/// The same on one line: line feeds and tabs become spaces.
[[nodiscard]] std::string printable_line(std::string_view text);

/// A length of time, rounded in the unit that says most: "3 s", "5 min", "2 h", "3 d". Negative ones are "0 s".
[[nodiscard]] std::string rough(std::chrono::seconds duration);
/// "12 s ago".
[[nodiscard]] std::string ago(Timestamp then, Timestamp now);
/// "in 58 min", or "3 s ago" for what is over.
[[nodiscard]] std::string from_now(Timestamp then, Timestamp now);

/// An amount of memory or disk: "512 MiB", "1.5 GiB".
[[nodiscard]] std::string mib(std::int64_t amount);
/// Cores from thousandths: "1.5 cores".
[[nodiscard]] std::string cores(std::int64_t cpu_millis);

/// An argument vector as one could type it into a shell.
[[nodiscard]] std::string shell_words(const std::vector<std::string>& argv);

enum class Color { none, green, yellow, red, dim };

/// Columns as wide as their widest cell, two spaces apart; the header in capitals. Cells must be printable lines.
class Table {
public:
    explicit Table(std::vector<std::string> header);
    struct Cell {
        std::string text;
        Color color = Color::none;

        // Implicit, so that a row is a list of texts, some of them with a colour.
        Cell(std::string cell_text, Color cell_color = Color::none) : text(std::move(cell_text)), color(cell_color) {}
        Cell(const char* cell_text, Color cell_color = Color::none) : text(cell_text), color(cell_color) {}
    };
    void add(std::vector<Cell> row);
    [[nodiscard]] std::string text(bool colors) const;

private:
    std::vector<std::vector<Cell>> rows_;
};

/// The text in that colour; as it is when colours are off.
[[nodiscard]] std::string colored(std::string text, Color color, bool colors);
/// Columns that it takes on a terminal, taking every code point for one.
[[nodiscard]] std::size_t width(std::string_view utf8);

}  // namespace sandbox::cli
