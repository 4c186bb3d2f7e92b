#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include <sandbox/aegis/aegis.hpp>
#include <sandbox/async/signal.hpp>

#include "postgres/notes.hpp"
#include "postgres/pool.hpp"

namespace sandbox::store::postgres {

/// What this controller knows of all nodes, so that a create does not read ten thousand of them. It may be behind: the
/// database decides whether a choice still holds. Lives on the io thread; always owned by a shared_ptr.
class FleetCache : public std::enable_shared_from_this<FleetCache> {
public:
    FleetCache(std::shared_ptr<Pool> pool, aegis::Policy policy);

    /// Reads what has changed since the last time, or everything. Concurrent callers share one reading that began after
    /// each of them asked. Errors: unavailable.
    Task<Result<void>> refresh(Deadline deadline);
    /// Has the next refresh read everything: something may have been missed.
    void forget();
    /// Nodes have changed in more than their ledgers: whoever places next reads first.
    void nodes_changed() noexcept { due_ = true; }
    [[nodiscard]] bool due() const noexcept { return due_; }

    /// Room that is asked for and not yet answered by the database; given back when this goes.
    class Hold {
    public:
        Hold(std::shared_ptr<FleetCache> fleet, const domain::NodeId& node, const domain::Resources& resources);
        ~Hold();
        Hold(const Hold&) = delete;
        Hold& operator=(const Hold&) = delete;

    private:
        std::shared_ptr<FleetCache> fleet_;
        domain::NodeId node_;
        domain::Resources resources_;
    };

    /// The best node by what is known. `counting_holds`: what others are just asking for is taken as gone; else only
    /// what the database has said.
    [[nodiscard]] aegis::Outcome place(const domain::SandboxSpec& spec, bool counting_holds);
    /// The number of the node's process by which the choice was made.
    [[nodiscard]] std::int64_t registration(const domain::NodeId& node) const;

    void take(const Notes& notes);
    void add_live(const domain::SandboxId& id, const domain::NodeId& node, const std::string& tenant,
                  const std::map<std::string, std::string>& labels);
    /// A heartbeat that went through this controller.
    void heard_from(const domain::NodeId& node, const domain::Heartbeat& report);

private:
    struct Entry {
        domain::Node node;
        std::int64_t registration = 0;
        std::int64_t version = 0;
        bool stale = false;
        domain::Resources used{0, 0, 0, 0};
        domain::Resources held{0, 0, 0, 0};  // by Holds
        std::int64_t holds = 0;
    };
    struct Live {
        domain::NodeId node;
        std::string tenant;
        std::map<std::string, std::string> labels;
    };
    struct News;

    [[nodiscard]] static Result<News> read(Connection& connection, const std::string& since);
    void take(News news);
    void take(Entry& entry, const LedgerNote& note);
    void show(Entry& entry);
    void follow(const Entry& entry, bool counting_holds);
    void remove_live(const domain::SandboxId& id);
    [[nodiscard]] Timestamp now() const;

    std::shared_ptr<Pool> pool_;
    aegis::Policy policy_;
    aegis::Fleet fleet_;
    std::unordered_map<domain::NodeId, Entry> nodes_;
    std::unordered_map<domain::SandboxId, Live> live_;  // those with labels

    std::string since_;  // empty: everything is to be read
    Timestamp database_now_{};
    std::chrono::steady_clock::time_point read_at_;
    bool due_ = true;
    bool reading_ = false;
    std::uint64_t asked_ = 0;
    std::uint64_t covered_ = 0;  // the last asking that a reading has answered
    async::Signal read_;
};

}  // namespace sandbox::store::postgres
