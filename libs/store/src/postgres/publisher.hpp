#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include <sandbox/store/store.hpp>

#include "postgres/pool.hpp"

namespace sandbox::store::postgres {

/// An event as a row of outbox or events: its columns from `at` on, in the order of kEventColumns.
[[nodiscard]] domain::Event event_of(const Row& row, std::size_t at);
inline constexpr std::size_t kEventColumns = 7;

/// Takes events from the outbox to the log. One publisher at a time among all controllers: whose session holds a lock
/// in the database, until it ends. Lives on the io thread, with a connection of its own for the lock.
class Publisher {
public:
    Publisher(asio::any_io_executor io, const Access& access);

    /// The next events with the numbers that they are going to have, or none: there are none, or another controller
    /// publishes. They are given again until published() names them. Errors: unavailable.
    Task<Result<std::vector<LoggedEvent>>> next(std::size_t limit);
    /// Moves what was given, up to this number, to the log. Errors: unavailable, also when another controller has
    /// taken over meanwhile; then they may be published twice.
    Task<Result<void>> published(std::uint64_t last_sequence);

    void close();

private:
    struct Given {
        std::int64_t id = 0;  // in the outbox
        LoggedEvent event;
    };
    struct Found;

    [[nodiscard]] static Result<Found> look(Connection& connection, std::uint64_t holder, const std::string& known,
                                            std::size_t limit);
    void take(Found found);

    std::shared_ptr<Pool> pool_;  // of one thread
    std::uint64_t holder_ = 0;    // the connection that holds the lock
    std::deque<Given> given_;     // not yet published, by their numbers
    Deadline not_before_;         // another controller publishes: not asked for until then
    bool closed_ = false;
};

}  // namespace sandbox::store::postgres
