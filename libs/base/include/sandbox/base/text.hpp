#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sandbox {

/// RFC 4648 base64 with padding.
[[nodiscard]] std::string base64_encode(std::string_view bytes);
/// The reverse; nullopt for anything but correctly padded base64.
[[nodiscard]] std::optional<std::string> base64_decode(std::string_view text);

/// Whether the bytes are well-formed UTF-8 (no surrogates, no overlong forms).
[[nodiscard]] bool is_utf8(std::string_view bytes) noexcept;
/// The same text with each ill-formed sequence replaced by U+FFFD.
[[nodiscard]] std::string to_utf8(std::string_view bytes);

/// The candidate that is nearest to `word` by edit distance, when it is near enough to be a slip (at most a third of
/// the word, at least 2), else one that starts with the word or nearly so ("memry", "memory" → "memory_mib").
[[nodiscard]] std::optional<std::string_view> nearest(std::string_view word,
                                                      std::span<const std::string_view> candidates);

/// The text in at most `limit` bytes, cut between characters, with a "…" (counted) at the end where something is
/// missing.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t limit);

}  // namespace sandbox
