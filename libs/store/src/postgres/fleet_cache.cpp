#include "postgres/fleet_cache.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <sandbox/base/time.hpp>

#include "postgres/json.hpp"

namespace sandbox::store::postgres {

namespace {

/// Which nodes are silent is the database's to say, since it knows for how long anybody has listened: those were last
/// seen long ago, all others within this.
constexpr std::chrono::seconds kHeardLately = std::chrono::years(10);

constexpr Statement kFleet{"fleet", "select fleet($1::text::xid8)"};

domain::Resources resources_of(const nlohmann::json& numbers) {
    return {.cpu_millis = numbers.at(0).get<std::int64_t>(),
            .memory_mib = numbers.at(1).get<std::int64_t>(),
            .disk_mib = numbers.at(2).get<std::int64_t>(),
            .pids = numbers.at(3).get<std::int64_t>()};
}

template <class Id>
Id id_of(const nlohmann::json& json) {
    const auto id = Id::parse(json.get_ref<const std::string&>());
    if (!id) throw std::runtime_error("an id is no UUID");
    return *id;
}

Timestamp time_of(const nlohmann::json& json) {
    const auto time = parse_time(json.get_ref<const std::string&>());
    if (!time) throw std::runtime_error(time.error().message());
    return *time;
}

}  // namespace

FleetCache::FleetCache(std::shared_ptr<Pool> pool, aegis::Policy policy) : pool_(std::move(pool)), policy_(policy) {
    policy_.heartbeat_timeout = kHeardLately;
}

/// What one reading brought.
struct FleetCache::News {
    struct Ledger {
        LedgerNote note;
        std::int64_t registration = 0;
        bool draining = false;
        float pressure = 0;
        bool stale = false;
    };
    bool everything = false;
    std::string since;
    Timestamp now;
    std::vector<domain::Node> nodes;
    std::vector<Ledger> ledgers;
    std::vector<std::pair<domain::SandboxId, std::optional<Live>>> sandboxes;
};

Result<FleetCache::News> FleetCache::read(Connection& connection, const std::string& since) {
    auto rows = connection.query(kFleet, {since.empty() ? Value() : Value(since)});
    if (!rows) return fail(std::move(rows.error()));
    const auto json = json_of(*rows->at(0).at(0));
    News news{.everything = since.empty(),
              .since = json.at("since").get<std::string>(),
              .now = time_of(json.at("now")),
              .nodes = {},
              .ledgers = {},
              .sandboxes = {}};
    for (const auto& node : json.at("nodes")) news.nodes.push_back(record_of(node, domain::read_node));
    for (const auto& ledger : json.at("ledgers"))
        news.ledgers.push_back({.note = {.node = id_of<domain::NodeId>(ledger.at("id")),
                                         .version = ledger.at("version").get<std::int64_t>(),
                                         .total = resources_of(ledger.at("total")),
                                         .used = resources_of(ledger.at("used")),
                                         .max_sandboxes = ledger.at("max_sandboxes").get<std::int64_t>(),
                                         .live = ledger.at("live").get<std::int64_t>()},
                                .registration = ledger.at("registration").get<std::int64_t>(),
                                .draining = ledger.at("draining").get<bool>(),
                                .pressure = ledger.at("pressure").get<float>(),
                                .stale = ledger.at("stale").get<bool>()});
    for (const auto& sandbox : json.at("sandboxes")) {
        std::optional<Live> live;
        if (sandbox.at("live").get<bool>())
            live = Live{.node = id_of<domain::NodeId>(sandbox.at("node_id")),
                        .tenant = sandbox.at("tenant").get<std::string>(),
                        .labels = sandbox.at("labels").get<std::map<std::string, std::string>>()};
        news.sandboxes.emplace_back(id_of<domain::SandboxId>(sandbox.at("id")), std::move(live));
    }
    return news;
}

Task<Result<void>> FleetCache::refresh(Deadline deadline) {
    const auto self = shared_from_this();
    const auto wanted = ++asked_;
    while (covered_ < wanted) {
        if (reading_) {
            if (!co_await read_.wait(deadline)) co_return fail(Code::unavailable, "PostgreSQL did not answer in time");
            continue;
        }
        struct Reading {  // ends also when this task is cancelled: the others read for themselves
            FleetCache& cache;
            explicit Reading(FleetCache& owner) : cache(owner) { cache.reading_ = true; }
            ~Reading() {
                cache.reading_ = false;
                cache.read_.notify_all();
            }
            Reading(const Reading&) = delete;
            Reading& operator=(const Reading&) = delete;
        } reading(*this);
        const auto covers = asked_;
        due_ = false;
        const auto since = since_;
        auto job = [since](Connection& connection) { return read(connection, since); };
        auto news = co_await pool_->read(deadline, std::move(job));
        if (!news) {
            due_ = true;
            co_return fail(std::move(news.error()));
        }
        if (since != since_) continue;  // forgotten meanwhile
        take(std::move(*news));
        covered_ = covers;
    }
    co_return Result<void>();
}

void FleetCache::forget() {
    since_.clear();
    due_ = true;
}

void FleetCache::take(News news) {
    if (news.everything) {
        // Nodes stay in the database for ever; only what was said of them may have been missed.
        for (const auto& [id, live] : live_) fleet_.remove_live(live.node, live.tenant, live.labels);
        live_.clear();
        // A database that was away may have lost its last heartbeats, and gives their versions again.
        for (auto& [id, entry] : nodes_) entry.version = 0;
    }
    since_ = std::move(news.since);
    database_now_ = news.now;
    read_at_ = std::chrono::steady_clock::now();
    for (auto& node : news.nodes) {
        auto& entry = nodes_[node.id];
        // The ledger has a version of its own: what is known of it may be newer than this reading.
        if (entry.version > 0) node.capacity = entry.node.capacity;
        entry.node = std::move(node);
    }
    for (const auto& ledger : news.ledgers) {
        const auto found = nodes_.find(ledger.note.node);
        if (found == nodes_.end()) continue;
        auto& entry = found->second;
        entry.registration = ledger.registration;
        entry.node.draining = ledger.draining;
        entry.node.pressure = ledger.pressure;
        entry.stale = ledger.stale;
        take(entry, ledger.note);
        show(entry);
    }
    for (auto& node : news.nodes)
        if (const auto found = nodes_.find(node.id); found != nodes_.end()) show(found->second);
    for (auto& [id, live] : news.sandboxes) {
        if (live)
            add_live(id, live->node, live->tenant, live->labels);
        else
            remove_live(id);
    }
}

void FleetCache::take(Entry& entry, const LedgerNote& note) {
    if (note.version <= entry.version) return;
    entry.version = note.version;
    entry.used = note.used;
    entry.node.capacity.total = note.total;
    entry.node.capacity.max_sandboxes = note.max_sandboxes;
    entry.node.capacity.running_sandboxes = note.live;
}

void FleetCache::show(Entry& entry) {
    entry.node.last_seen = entry.stale ? Timestamp{} : now();
    fleet_.upsert(entry.node);
    follow(entry, true);
}

void FleetCache::follow(const Entry& entry, bool counting_holds) {
    auto capacity = entry.node.capacity;
    auto used = entry.used;
    if (counting_holds) {
        used += entry.held;
        capacity.running_sandboxes += entry.holds;
    }
    const auto left = [](std::int64_t total, std::int64_t taken) { return std::max<std::int64_t>(total - taken, 0); };
    capacity.available = {.cpu_millis = left(capacity.total.cpu_millis, used.cpu_millis),
                          .memory_mib = left(capacity.total.memory_mib, used.memory_mib),
                          .disk_mib = left(capacity.total.disk_mib, used.disk_mib),
                          .pids = left(capacity.total.pids, used.pids)};
    fleet_.set_capacity(entry.node.id, capacity);
}

aegis::Outcome FleetCache::place(const domain::SandboxSpec& spec, bool counting_holds) {
    if (counting_holds) return fleet_.place(spec, policy_, now());
    for (const auto& [id, entry] : nodes_)
        if (entry.holds > 0) follow(entry, false);
    auto outcome = fleet_.place(spec, policy_, now());
    for (const auto& [id, entry] : nodes_)
        if (entry.holds > 0) follow(entry, true);
    return outcome;
}

std::int64_t FleetCache::registration(const domain::NodeId& node) const {
    const auto found = nodes_.find(node);
    return found == nodes_.end() ? 0 : found->second.registration;
}

void FleetCache::take(const Notes& notes) {
    for (const auto& note : notes.ledgers) {
        const auto found = nodes_.find(note.node);
        if (found == nodes_.end()) continue;
        take(found->second, note);
        follow(found->second, true);
    }
    for (const auto& id : notes.gone) remove_live(id);
}

void FleetCache::add_live(const domain::SandboxId& id, const domain::NodeId& node, const std::string& tenant,
                          const std::map<std::string, std::string>& labels) {
    if (labels.empty()) return;
    if (live_.try_emplace(id, Live{.node = node, .tenant = tenant, .labels = labels}).second)
        fleet_.add_live(node, tenant, labels);
}

void FleetCache::remove_live(const domain::SandboxId& id) {
    const auto found = live_.find(id);
    if (found == live_.end()) return;
    fleet_.remove_live(found->second.node, found->second.tenant, found->second.labels);
    live_.erase(found);
}

void FleetCache::heard_from(const domain::NodeId& id, const domain::Heartbeat& report) {
    const auto found = nodes_.find(id);
    if (found == nodes_.end()) return;
    found->second.stale = false;
    found->second.node.pressure = report.pressure;
    found->second.node.warm_images = report.warm_images;
    show(found->second);
}

/// By the database's clock, as far as it is known here.
Timestamp FleetCache::now() const {
    const auto since = std::chrono::steady_clock::now() - read_at_;
    return database_now_ + std::chrono::duration_cast<std::chrono::microseconds>(since);
}

FleetCache::Hold::Hold(std::shared_ptr<FleetCache> fleet, const domain::NodeId& node,
                       const domain::Resources& resources)
    : fleet_(std::move(fleet)), node_(node), resources_(resources) {
    const auto found = fleet_->nodes_.find(node_);
    if (found == fleet_->nodes_.end()) return;
    found->second.held += resources_;
    ++found->second.holds;
    fleet_->follow(found->second, true);
}

FleetCache::Hold::~Hold() {
    const auto found = fleet_->nodes_.find(node_);
    if (found == fleet_->nodes_.end()) return;
    found->second.held -= resources_;
    --found->second.holds;
    fleet_->follow(found->second, true);
}

}  // namespace sandbox::store::postgres
