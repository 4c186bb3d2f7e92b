#pragma once

#include <string>

#include "session.hpp"

namespace sandbox::cli {

/// The failure's sentence, and what to do about it where we know.
[[nodiscard]] std::string message_of(const client::Failure& failure);

/// That an operation goes on without us, and how to follow or end it: the end of a sentence.
[[nodiscard]] std::string goes_on(const Pending& pending);

/// A line for people, or the JSON document of an error; with its line feed.
[[nodiscard]] std::string error_text(const std::string& code, const std::string& message, const std::string& request_id,
                                     bool json);

}  // namespace sandbox::cli
