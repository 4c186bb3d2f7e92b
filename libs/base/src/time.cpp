#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include <sandbox/base/text.hpp>
#include <sandbox/base/time.hpp>

namespace sandbox {
namespace {

using namespace std::chrono;

/// Takes fixed-width numbers and single characters off the front of a text.
class Scanner {
public:
    explicit Scanner(std::string_view text) : rest_(text) {}

    std::optional<int> digits(std::size_t count) {
        if (rest_.size() < count) return std::nullopt;
        int value = 0;
        for (char c : rest_.substr(0, count)) {
            if (c < '0' || c > '9') return std::nullopt;
            value = value * 10 + (c - '0');
        }
        rest_.remove_prefix(count);
        return value;
    }

    bool one_of(std::string_view characters) {
        if (rest_.empty() || characters.find(rest_.front()) == std::string_view::npos) return false;
        last_ = rest_.front();
        rest_.remove_prefix(1);
        return true;
    }

    /// How many digits stand at the front.
    std::size_t run() const {
        auto end = rest_.find_first_not_of("0123456789");
        return end == std::string_view::npos ? rest_.size() : end;
    }

    char last() const { return last_; }
    bool at_end() const { return rest_.empty(); }

private:
    std::string_view rest_;
    char last_ = 0;
};

std::optional<microseconds> read_fraction(Scanner& scanner) {
    if (!scanner.one_of(".")) return 0us;
    auto count = scanner.run();
    if (count < 1 || count > 9) return std::nullopt;
    auto value = static_cast<std::int64_t>(*scanner.digits(count));
    for (auto digits = count; digits < 9; ++digits) value *= 10;
    return microseconds(value / 1000);
}

std::optional<minutes> read_offset(Scanner& scanner) {
    if (scanner.one_of("Zz")) return 0min;
    if (!scanner.one_of("+-")) return std::nullopt;
    int sign = scanner.last() == '-' ? -1 : 1;
    auto hour = scanner.digits(2);
    if (!hour || *hour > 23 || !scanner.one_of(":")) return std::nullopt;
    auto minute = scanner.digits(2);
    if (!minute || *minute > 59) return std::nullopt;
    return sign * (hours(*hour) + minutes(*minute));
}

std::optional<Timestamp> read(std::string_view text) {
    Scanner scanner(text);
    auto y = scanner.digits(4);
    if (!y || !scanner.one_of("-")) return std::nullopt;
    auto m = scanner.digits(2);
    if (!m || !scanner.one_of("-")) return std::nullopt;
    auto d = scanner.digits(2);
    if (!d || !scanner.one_of("Tt ")) return std::nullopt;
    auto hour = scanner.digits(2);
    if (!hour || *hour > 23 || !scanner.one_of(":")) return std::nullopt;
    auto minute = scanner.digits(2);
    if (!minute || *minute > 59 || !scanner.one_of(":")) return std::nullopt;
    auto second = scanner.digits(2);
    if (!second || *second > 60) return std::nullopt;
    auto fraction = read_fraction(scanner);
    if (!fraction) return std::nullopt;
    auto offset = read_offset(scanner);
    if (!offset || !scanner.at_end()) return std::nullopt;

    year_month_day date{year(*y), month(static_cast<unsigned>(*m)), day(static_cast<unsigned>(*d))};
    if (!date.ok()) return std::nullopt;
    auto to_the_minute = sys_days(date) + hours(*hour) + minutes(*minute) - *offset;
    // A leap second stands at the end of a UTC day only; it is read as the first moment of the next.
    if (*second == 60 && floor<days>(to_the_minute) + 23h + 59min != to_the_minute) return std::nullopt;
    Timestamp time = to_the_minute + seconds(*second) + *fraction;
    // What four digits of year can say in UTC, and databases store.
    if (time < sys_days(year(1) / 1 / 1) || time >= sys_days(year(10000) / 1 / 1)) return std::nullopt;
    return time;
}

}  // namespace

std::string format_time(Timestamp time) {
    auto date = floor<days>(time);
    year_month_day ymd(date);
    hh_mm_ss<microseconds> clock(time - date);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", static_cast<int>(ymd.year()),
                       static_cast<unsigned>(ymd.month()), static_cast<unsigned>(ymd.day()), clock.hours().count(),
                       clock.minutes().count(), clock.seconds().count(), clock.subseconds().count());
}

Result<Timestamp> parse_time(std::string_view text) {
    if (auto time = read(text)) return *time;
    return fail(Code::invalid_argument,
                fmt::format("not an RFC 3339 time such as 2026-11-30T03:04:05Z: \"{}\"", shortened(to_utf8(text), 64)));
}

}  // namespace sandbox
