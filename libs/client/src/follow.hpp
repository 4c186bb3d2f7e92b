#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "caller.hpp"
#include "event_stream.hpp"

namespace sandbox::client {

/// One run of Client::follow. Lives as long as its task, on the io thread.
class Follower {
public:
    Follower(Caller& caller, EventQuery query, Following following);
    Task<Answer<void>> run();

private:
    /// One connection, to its end: false when the caller wants no more.
    Task<Answer<bool>> one_stream();
    [[nodiscard]] bool take(std::string_view bytes);

    Caller& caller_;
    EventQuery query_;  // `after` is the last number seen
    Following following_;
    EventStream stream_;
    std::optional<Error> problem_;
    std::chrono::steady_clock::time_point last_heard_;
    bool heard_ = false;  // anything of this connection
    bool away_ = false;   // on_away was called, on_back not yet
};

}  // namespace sandbox::client
