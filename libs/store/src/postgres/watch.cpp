#include "postgres/watch.hpp"

#include <unistd.h>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sandbox/base/log.hpp>

#include "postgres/answer.hpp"

namespace sandbox::store::postgres {

namespace {

constexpr std::chrono::milliseconds kPollInterval{1000};
constexpr std::chrono::milliseconds kListenAgain{250};
constexpr const char* kChannel = "sandbox";
// PostgreSQL takes fewer than 8000 bytes.
constexpr std::size_t kMaxPayload = 7500;

// Whoever listens holds this lock with others, so that each can tell whether it is alone.
constexpr Statement kPresent{"present", "select pg_advisory_lock_shared(hashtext('sandbox controllers'), 0)"};
constexpr Statement kNews{"news", R"(
    select n.notes, n.log_end, n.has_outbox,
           (select count(*) from pg_locks where locktype = 'advisory' and objsubid = 2 and objid = 0
                and classid::bigint = hashtext('sandbox controllers')::bigint & x'ffffffff'::bigint
                and database = (select oid from pg_database where datname = current_database())) > 1
    from news($1) n)"};
// It only wakes: nobody has to wait until it is on disk.
constexpr Statement kSpeak{"speak", R"(
    with quickly as (select set_config('synchronous_commit', 'off', true))
    select pg_notify('sandbox', note) from quickly, unnest($1::text[]) note)"};

/// In payloads that are not too long, each headed by the name.
std::vector<std::string> payloads(const std::string& name, std::string_view notes) {
    std::vector<std::string> out;
    while (!notes.empty()) {
        auto size = std::min(notes.size(), kMaxPayload);
        if (size < notes.size()) size = notes.rfind(' ', size) + 1;
        out.push_back(name + " " + std::string(notes.substr(0, size)));
        notes.remove_prefix(size);
    }
    return out;
}

}  // namespace

Watch::Watch(asio::any_io_executor io, std::shared_ptr<Pool> pool, std::shared_ptr<Board> board,
             std::shared_ptr<FleetCache> fleet, Random& random)
    : io_(std::move(io)),
      pool_(std::move(pool)),
      board_(std::move(board)),
      fleet_(std::move(fleet)),
      name_(Uuid::make_v7({}, random).compact()),
      listen_pause_(io_),
      poll_pause_(io_) {}

void Watch::start() {
    asio::co_spawn(io_, listen_forever(shared_from_this()), asio::detached);
    asio::co_spawn(io_, poll_forever(shared_from_this()), asio::detached);
}

void Watch::stop() {
    stopped_ = true;
    listen_pause_.cancel();
    poll_pause_.cancel();
    if (socket_) socket_->cancel();
}

void Watch::changed(const std::string& notes) {
    changed_here(Notes::parse(notes));
    if (!others_ || stopped_) return;
    // Without a note it still tells that there may be an event.
    outgoing_ += notes.empty() ? "e " : notes;
    if (!outgoing_.ends_with(' ')) outgoing_ += ' ';
    if (speaking_) return;
    speaking_ = true;
    asio::co_spawn(io_, speak(shared_from_this()), asio::detached);
}

void Watch::changed_here(const Notes& notes) {
    board_->take(notes);
    fleet_->take(notes);
    if (notes.nodes_changed) fleet_->nodes_changed();
    board_->outbox.changed();
}

/// One statement at a time: what comes meanwhile goes together with the next.
Task<void> Watch::speak(std::shared_ptr<Watch> /*self*/) {
    while (!outgoing_.empty() && !stopped_) {
        const auto texts = array_of_texts(payloads(name_, std::exchange(outgoing_, {})));
        auto job = [texts](Connection& connection) { return connection.query(kSpeak, {texts}); };
        auto spoken = co_await pool_->run(in(kAnswerWithin), std::move(job));
        if (!spoken) log::debug("other controllers were not told", {{"error", spoken.error().message()}});
    }
    speaking_ = false;
}

void Watch::hear(const std::string& payload) {
    const auto blank = std::min(payload.find(' '), payload.size());
    if (std::string_view(payload).substr(0, blank) == name_) return;
    others_ = true;
    changed_here(Notes::parse(std::string_view(payload).substr(blank)));
}

Task<void> Watch::listen_forever(std::shared_ptr<Watch> self) {
    const std::weak_ptr<Watch> weak = self;
    while (!stopped_) {
        auto set_up = [weak](Connection& connection) -> Result<void> {
            auto present = connection.query(kPresent);
            if (!present) return fail(std::move(present.error()));
            return connection.listen(kChannel, [weak](const std::string& payload) {
                if (const auto watch = weak.lock()) watch->hear(payload);
            });
        };
        auto connection = co_await pool_->connect(in(kAnswerWithin), std::move(set_up));
        if (stopped_) co_return;
        if (connection) co_await listen_on(**connection);
        if (stopped_) co_return;
        listen_pause_.expires_after(kListenAgain);
        co_await listen_pause_.async_wait(asio::as_tuple(asio::use_awaitable));
    }
}

Task<void> Watch::listen_on(Connection& connection) {
    back_again();
    changed("");  // others may think that they are alone
    const int socket = ::dup(connection.socket());
    if (socket < 0) co_return;  // out of descriptors: in a moment again
    socket_.emplace(io_, socket);
    while (!stopped_) {
        const auto [error] = co_await socket_->async_wait(asio::posix::stream_descriptor::wait_read,
                                                          asio::as_tuple(asio::use_awaitable));
        if (error || stopped_) break;
        if (auto heard = connection.notified(); !heard) break;
    }
    socket_.reset();
}

/// Notifications have been missed: everybody looks again.
void Watch::back_again() {
    fleet_->forget();
    board_->wake_all();
}

Task<void> Watch::poll_forever(std::shared_ptr<Watch> /*self*/) {
    while (!stopped_) {
        poll_pause_.expires_after(kPollInterval);
        co_await poll_pause_.async_wait(asio::as_tuple(asio::use_awaitable));
        if (stopped_) co_return;
        auto job = [ids = array_of_ids(board_->awaited())](Connection& connection) {
            return connection.query(kNews, {ids});
        };
        auto news = co_await pool_->read(in(kAnswerWithin), std::move(job));
        if (stopped_) co_return;
        if (!news) {
            was_away_ = true;
            continue;
        }
        if (std::exchange(was_away_, false)) back_again();
        take_poll(news->at(0));
        auto fresh = co_await fleet_->refresh(in(kAnswerWithin));
        if (!fresh) was_away_ = true;
    }
}

void Watch::take_poll(const Row& row) {
    board_->take(Notes::parse(row.at(0).value_or("")));
    const auto log_end = row.at(1).value_or("");
    if (std::exchange(log_end_, log_end) != log_end) board_->log.changed();
    if (is_true(row.at(2))) board_->outbox.changed();
    others_ = is_true(row.at(3));
}

}  // namespace sandbox::store::postgres
