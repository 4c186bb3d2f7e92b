#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <sandbox/base/error.hpp>
#include <sandbox/domain/spec.hpp>

namespace sandbox::cli {

using KeyValues = std::map<std::string, std::string>;

/// Reads K=V items into a map; a later one of the same key wins. `option` names them in messages, which never show a
/// value: it may be a secret. Errors: invalid_argument.
[[nodiscard]] Result<KeyValues> read_key_values(std::string_view option, const std::vector<std::string>& items);

/// Reads a file (or a pipe, such as a shell's <(…)) of K=V lines: blank lines and those that begin with # are skipped,
/// values are taken as they stand, quotes included. At most 1 MiB. Errors: invalid_argument with the line's number,
/// not_found.
[[nodiscard]] Result<KeyValues> read_env_file(const std::string& path);

/// Both together; --env wins over --env-file.
[[nodiscard]] Result<KeyValues> read_environment(const std::vector<std::string>& items,
                                                 const std::vector<std::string>& files);

/// The words as they are, when the API can carry them. Errors: invalid_argument for one that is not UTF-8.
[[nodiscard]] Result<std::vector<std::string>> checked_argv(const std::vector<std::string>& argv);

/// PORT or PORT=SUBDOMAIN. Errors: invalid_argument.
[[nodiscard]] Result<domain::Exposure> read_exposure(std::string_view text);

}  // namespace sandbox::cli
