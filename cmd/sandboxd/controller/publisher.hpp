#pragma once

#include <chrono>
#include <cstddef>

#include <sandbox/events/event_bus.hpp>
#include <sandbox/store/store.hpp>

#include "metrics.hpp"

namespace sandbox::sandboxd {

/// The events' way from the outbox to the bus: in batches, one after another, and one batch at a time. What the bus
/// does not accept stays where it is and is tried again, at first soon and then every few seconds, with fewer events at
/// once: a slow bus gets through with some of them. Lives on the io thread; what it is given must outlive it.
class Publisher {
public:
    Publisher(store::Store& store, events::EventBus& bus, Metrics& metrics);

    /// Publishes until it is cancelled.
    Task<void> run();
    /// Publishes what is left, until there is nothing more, the bus refuses or the time is up. Not beside run().
    Task<void> flush(Deadline deadline);

private:
    /// Events that left; 0 when there were none by then. The bus has `patience` to accept them. Errors: what the store
    /// or the bus says.
    Task<Result<std::size_t>> publish_some(Deadline wait_until, std::chrono::steady_clock::duration patience);
    void note_failure(const Error& error);
    void note_success();

    store::Store& store_;
    events::EventBus& bus_;
    Metrics& metrics_;
    std::size_t batch_;
    std::chrono::milliseconds pause_;
    std::size_t failures_ = 0;  // in a row
};

}  // namespace sandbox::sandboxd
