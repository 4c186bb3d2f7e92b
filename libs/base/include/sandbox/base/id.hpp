#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <sandbox/base/random.hpp>
#include <sandbox/base/time.hpp>

namespace sandbox {

/// A UUID as sixteen bytes. Ordered by bytes, so version 7 ids sort by the time they were made.
struct Uuid {
    std::array<std::uint8_t, 16> bytes{};

    /// Reads the 36-character hyphenated form, either case, any version.
    [[nodiscard]] static std::optional<Uuid> parse(std::string_view text) noexcept;
    /// Version 7 (RFC 9562): 48 bits of milliseconds since 1970, then random bits.
    [[nodiscard]] static Uuid make_v7(Timestamp now, Random& random);
    /// Lowercase, hyphenated.
    [[nodiscard]] std::string text() const;
    /// Lowercase, 32 digits without hyphens.
    [[nodiscard]] std::string compact() const;

    auto operator<=>(const Uuid&) const = default;
};

/// A Uuid that can't be taken for another kind's: Id<struct NodeTag>.
template <class Tag>
struct Id {
    Uuid uuid;

    [[nodiscard]] static std::optional<Id> parse(std::string_view text) noexcept {
        if (auto uuid = Uuid::parse(text)) return Id{*uuid};
        return std::nullopt;
    }
    [[nodiscard]] static Id make(Timestamp now, Random& random) { return Id{Uuid::make_v7(now, random)}; }
    [[nodiscard]] std::string text() const { return uuid.text(); }

    auto operator<=>(const Id&) const = default;
};

}  // namespace sandbox

template <>
struct std::hash<sandbox::Uuid> {
    std::size_t operator()(const sandbox::Uuid& uuid) const noexcept {
        return std::hash<std::string_view>{}({reinterpret_cast<const char*>(uuid.bytes.data()), uuid.bytes.size()});
    }
};
template <class Tag>
struct std::hash<sandbox::Id<Tag>> {
    std::size_t operator()(const sandbox::Id<Tag>& id) const noexcept { return std::hash<sandbox::Uuid>{}(id.uuid); }
};
