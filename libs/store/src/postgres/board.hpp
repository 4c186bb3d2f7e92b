#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include <sandbox/async/signal.hpp>
#include <sandbox/domain/ids.hpp>

#include "postgres/notes.hpp"

namespace sandbox::store::postgres {

/// Something that changes and is waited for. Unlike a bare Signal it misses nothing: whoever looks for news first notes
/// `seen`, then asks the database, then waits for what came after.
class Topic {
public:
    [[nodiscard]] std::uint64_t seen() const noexcept { return changes_; }
    void changed() {
        ++changes_;
        signal_.notify_all();
    }
    /// true as soon as it has changed since `seen`, false at the deadline.
    Task<bool> wait(std::uint64_t seen, Deadline deadline) {
        if (changes_ != seen) co_return true;
        co_return co_await signal_.wait(deadline);
    }
    [[nodiscard]] bool idle() const noexcept { return signal_.waiting() == 0; }

private:
    std::uint64_t changes_ = 0;
    async::Signal signal_;
};

/// Who waits for what in this controller. One thread.
class Board {
public:
    /// The waits for work of one node.
    struct Node {
        std::uint64_t polls = 0;  // the newest lease call's number: only that one asks for work
        bool asking = false;      // one question at a time, so that a later call has the higher number everywhere
        Topic asked;
        Topic work;
    };

    [[nodiscard]] std::shared_ptr<Node> node(const domain::NodeId& id);
    [[nodiscard]] std::shared_ptr<Topic> operation(const domain::OperationId& id);
    Topic outbox;
    Topic log;

    void take(const Notes& notes);
    /// Something may have been missed.
    void wake_all();
    /// From now on waits(): false. Who waits for a node's work or an operation looks again.
    void stop_waiting() {
        waits_ = false;
        wake_all();
    }
    [[nodiscard]] bool waits() const noexcept { return waits_; }
    /// Operations that somebody waits for; topics that nobody waits for any more are dropped on the way.
    [[nodiscard]] std::vector<domain::OperationId> awaited();

private:
    bool waits_ = true;
    std::unordered_map<domain::NodeId, std::shared_ptr<Node>> nodes_;
    std::unordered_map<domain::OperationId, std::shared_ptr<Topic>> operations_;
};

}  // namespace sandbox::store::postgres
