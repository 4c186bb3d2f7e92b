#pragma once

#include <memory>
#include <optional>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <sandbox/base/random.hpp>

#include "postgres/board.hpp"
#include "postgres/fleet_cache.hpp"
#include "postgres/pool.hpp"

namespace sandbox::store::postgres {

/// Hears what other controllers have changed, and tells them what this one has: LISTEN and NOTIFY, which only wake.
/// NOTIFY goes out after the transaction that it tells of, in one of its own: inside, all commits would wait for each
/// other. A slow poll, one for the whole controller, finds what was not heard. Lives on the io thread; its loops own
/// it.
class Watch : public std::enable_shared_from_this<Watch> {
public:
    Watch(asio::any_io_executor io, std::shared_ptr<Pool> pool, std::shared_ptr<Board> board,
          std::shared_ptr<FleetCache> fleet, Random& random);

    void start();
    void stop();

    /// What a transaction of this controller has changed: for its own waits now, for others' as soon as it goes.
    void changed(const std::string& notes);
    /// The same, but only for this controller: what others need not know at once.
    void changed_here(const Notes& notes);

private:
    // A loop keeps what it runs on alive.
    Task<void> listen_forever(std::shared_ptr<Watch> self);
    Task<void> listen_on(Connection& connection);
    Task<void> poll_forever(std::shared_ptr<Watch> self);
    Task<void> speak(std::shared_ptr<Watch> self);
    void hear(const std::string& payload);
    void take_poll(const Row& row);
    void back_again();

    asio::any_io_executor io_;
    std::shared_ptr<Pool> pool_;
    std::shared_ptr<Board> board_;
    std::shared_ptr<FleetCache> fleet_;
    std::string name_;  // among the controllers, for this process's life

    bool stopped_ = false;
    asio::steady_timer listen_pause_;
    asio::steady_timer poll_pause_;
    std::optional<asio::posix::stream_descriptor> socket_;
    std::string outgoing_;
    bool speaking_ = false;
    bool others_ = true;  // there are other controllers, as far as we know
    bool was_away_ = false;
    std::string log_end_;
};

}  // namespace sandbox::store::postgres
