#include "text.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <sandbox/base/text.hpp>

namespace sandbox::cli {
namespace {

using namespace std::chrono_literals;

std::string escaped(std::string_view text, bool one_line) {
    std::string result;
    const auto clean = to_utf8(text);
    for (std::size_t i = 0; i < clean.size(); ++i) {
        const auto byte = static_cast<unsigned char>(clean[i]);
        if (byte == '\n' || byte == '\t') {
            result += one_line ? ' ' : static_cast<char>(byte);
        } else if (byte < 0x20 || byte == 0x7f) {
            result += fmt::format("\\x{:02x}", byte);
        } else if (byte == 0xc2 && i + 1 < clean.size() && static_cast<unsigned char>(clean[i + 1]) < 0xa0) {
            result += fmt::format("\\x{:02x}", static_cast<unsigned char>(clean[++i]));
        } else {
            result += static_cast<char>(byte);
        }
    }
    return result;
}

bool needs_quotes(std::string_view word) {
    constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
    return word.empty() || word.find_first_not_of(kPlain) != std::string_view::npos;
}

}  // namespace

std::string printable(std::string_view text) {
    return escaped(text, false);
}

std::string printable_line(std::string_view text) {
    return escaped(text, true);
}

std::string rough(std::chrono::seconds duration) {
    if (duration < 1s) return "0 s";
    if (duration < 2min) return fmt::format("{} s", duration.count());
    const auto minutes = std::chrono::round<std::chrono::minutes>(duration);
    if (minutes < 2h) return fmt::format("{} min", minutes.count());
    const auto hours = std::chrono::round<std::chrono::hours>(duration);
    if (hours < 48h) return fmt::format("{} h", hours.count());
    return fmt::format("{} d", std::chrono::round<std::chrono::days>(duration).count());
}

std::string ago(Timestamp then, Timestamp now) {
    return rough(std::chrono::floor<std::chrono::seconds>(now - then)) + " ago";
}

std::string from_now(Timestamp then, Timestamp now) {
    if (then <= now) return ago(then, now);
    return "in " + rough(std::chrono::floor<std::chrono::seconds>(then - now));
}

std::string mib(std::int64_t amount) {
    constexpr std::int64_t kGib = 1024;
    if (amount < kGib) return fmt::format("{} MiB", amount);
    if (amount % kGib == 0) return fmt::format("{} GiB", amount / kGib);
    return fmt::format("{:.1f} GiB", static_cast<double>(amount) / static_cast<double>(kGib));
}

std::string cores(std::int64_t cpu_millis) {
    return fmt::format("{:g} core{}", static_cast<double>(cpu_millis) / 1000, cpu_millis == 1000 ? "" : "s");
}

std::string shell_words(const std::vector<std::string>& argv) {
    std::string line;
    for (const auto& word : argv) {
        if (!line.empty()) line += ' ';
        if (!needs_quotes(word)) {
            line += word;
            continue;
        }
        line += '\'';
        for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
        line += '\'';
    }
    return line;
}

std::string colored(std::string text, Color color, bool colors) {
    if (!colors || color == Color::none || text.empty()) return text;
    const auto code = color == Color::green ? "32" : color == Color::yellow ? "33" : color == Color::red ? "31" : "2";
    return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::size_t width(std::string_view utf8) {
    return static_cast<std::size_t>(
        std::ranges::count_if(utf8, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

Table::Table(std::vector<std::string> header) {
    std::vector<Cell> cells;
    for (auto& name : header) cells.emplace_back(std::move(name), Color::dim);
    rows_.push_back(std::move(cells));
}

void Table::add(std::vector<Cell> row) {
    rows_.push_back(std::move(row));
}

std::string Table::text(bool colors) const {
    std::vector<std::size_t> widths;
    for (const auto& row : rows_) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i].text));
    }
    std::string text;
    for (const auto& row : rows_) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            text += colored(row[i].text, row[i].color, colors);
            if (i + 1 < row.size()) text.append(widths[i] - width(row[i].text) + 2, ' ');
        }
        text += '\n';
    }
    return text;
}

}  // namespace sandbox::cli
