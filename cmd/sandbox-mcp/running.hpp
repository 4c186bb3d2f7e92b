#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <boost/asio/steady_timer.hpp>

#include "session.hpp"

namespace sandbox::mcp {

/// A request whose answer comes later: in line, then under way.
struct Session::Running {
    nlohmann::json id;
    std::string method;
    std::string what;  // for the log: the tool's name
    Revision revision = Revision::november_2025;
    std::optional<nlohmann::json> progress_token;
    Work work;
    std::size_t bytes = 0;  // about what it keeps while it is in line
    Call call;
    bool begun = false;
    bool ended = false;
    std::int64_t ticks = 0;
    asio::steady_timer ticker;
    std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();

    explicit Running(const asio::any_io_executor& executor) : ticker(executor) {}
};

}  // namespace sandbox::mcp
