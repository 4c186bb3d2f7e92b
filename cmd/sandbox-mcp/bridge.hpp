#pragma once

#include <optional>
#include <set>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include <sandbox/base/random.hpp>
#include <sandbox/client/client.hpp>

#include "options.hpp"

namespace sandbox::mcp {

/// What all calls of a run share: the options, the server's client, and what has been seen of the server. Lives on the
/// io thread as long as the program.
class Bridge {
public:
    Bridge(asio::any_io_executor executor, Options options);

    [[nodiscard]] const Options& options() const noexcept { return options_; }
    /// Made at the first call that needs the server; until then nothing is connected to.
    [[nodiscard]] client::Client& client();
    [[nodiscard]] std::string new_idempotency_key();

    /// Remembers whose a sandbox is, for completions.
    void saw(const domain::Sandbox& sandbox);
    [[nodiscard]] const std::set<std::string>& tenants() const noexcept { return tenants_; }

private:
    asio::any_io_executor executor_;
    Options options_;
    SystemRandom random_;
    std::optional<client::Client> client_;
    std::set<std::string> tenants_;
};

}  // namespace sandbox::mcp
