#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "text.hpp"

namespace sandbox::cli {

enum class ColorChoice { automatic, always, never };

/// What a command says. Standard output is gathered and written once, when the command has ended and nothing waits any
/// more, so that a slow reader never stands between us and a signal. Notes go to standard error at once.
class Output {
public:
    Output(bool json, bool quiet, ColorChoice color);

    [[nodiscard]] bool json() const noexcept { return json_; }
    [[nodiscard]] bool quiet() const noexcept { return quiet_; }
    [[nodiscard]] bool colors() const noexcept { return colors_; }
    /// Whether a line that changes may be shown on standard error.
    [[nodiscard]] bool live() const noexcept { return live_; }

    /// Bytes for standard output, as they are.
    void out(std::string_view bytes) { out_ += bytes; }
    /// Bytes for standard error, after standard output's.
    void err(std::string_view bytes) { err_ += bytes; }
    /// The one JSON document of this run.
    void document(const nlohmann::json& json);
    /// A sentence for people on standard error: now, but not with --quiet or --json.
    void note(std::string_view text) const;
    /// The same after standard output's bytes.
    void closing_note(std::string_view text);

    /// Forgets what was gathered.
    void discard();
    /// Writes what was gathered, and tells what did not take all of it (errno says why).
    enum class Flushed { whole, output_lost, errors_lost };
    [[nodiscard]] Flushed flush();

private:
    bool json_;
    bool quiet_;
    bool colors_;
    bool live_;
    std::string out_;
    std::string err_;
};

/// Writes all of it to a descriptor; false on an error.
bool write_all(int descriptor, std::string_view bytes);

}  // namespace sandbox::cli
