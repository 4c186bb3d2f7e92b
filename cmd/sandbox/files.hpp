#pragma once

#include <cstddef>
#include <string>

#include <sandbox/base/error.hpp>

namespace sandbox::cli {

/// A regular file's whole content. Errors: not_found, invalid_argument (no regular file, too long), unavailable.
[[nodiscard]] Result<std::string> read_file(const std::string& path, std::size_t limit_bytes);

/// The same of whatever can be read to an end: a pipe, a named one (waits for its writer), /dev/stdin. Of a character
/// device without an end the limit is one. Errors: not_found, invalid_argument (a folder, too long), unavailable.
[[nodiscard]] Result<std::string> read_file_or_pipe(const std::string& path, std::size_t limit_bytes);

/// Standard input (or another open descriptor) to its end. Errors: invalid_argument past the limit, unavailable.
[[nodiscard]] Result<std::string> read_to_end(int descriptor, std::size_t limit_bytes);

/// Puts a file of mode 0600 in place at once, whole or not at all; makes missing folders with mode 0700.
/// Errors: unavailable.
[[nodiscard]] Result<void> replace_file(const std::string& path, const std::string& content);

}  // namespace sandbox::cli
