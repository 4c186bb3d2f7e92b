#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <support/completion.hpp>
#include <support/postgres_server.hpp>
#include <support/run_task.hpp>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <sandbox/store/postgres_store.hpp>

/// Several controllers on one real database, all on this thread's io_context, and what happens to such a database.
namespace sandbox::store {

using namespace std::chrono_literals;
using domain::SandboxState;
using test::success_of;

/// How long a machine under load, built with sanitizers, may take for what is promised in five seconds.
inline constexpr std::chrono::seconds kFiveSecondsUnderLoad{12};

class Controllers : public testing::Test {
protected:
    Controllers();
    ~Controllers() override;

    /// One for the whole program: the tests have databases of their own.
    [[nodiscard]] static test::PostgresServer& server();
    [[nodiscard]] const std::string& database() const { return database_; }
    std::string query(const std::string& sql) { return server().query(database_, sql); }

    /// Another controller; it lives as long as the test.
    Store& start();
    /// It goes without a word.
    void end(Store& store);
    Store& operator[](std::size_t index) { return *stores_.at(index); }

    template <class T>
    T value(Task<Result<T>> task) {
        auto result = test::run(io_, std::move(task));
        if (!result) throw std::runtime_error(result.error().message());
        if constexpr (!std::is_void_v<T>) return *std::move(result);
    }
    template <class T>
    std::optional<Code> error(Task<Result<T>> task) {
        auto result = test::run(io_, std::move(task));
        return result ? std::nullopt : std::optional(result.error().code());
    }
    template <class T>
    using Started = std::shared_ptr<std::optional<Result<T>>>;
    template <class T>
    Started<T> begin(Task<Result<T>> task) {
        Started<T> result = std::make_shared<std::optional<Result<T>>>();
        asio::co_spawn(io_, keep(std::move(task), result), asio::detached);
        return result;
    }
    /// Lets everything run until the condition holds; false after a minute.
    bool run_until(const std::function<bool()>& condition);
    /// Lets everything run, on another thread, while this is done to the server.
    void run_beside(const std::function<void()>& work);

    domain::NodeId add_node(Store& store, std::int64_t max_sandboxes = 0,
                            std::map<std::string, std::string> labels = {});
    [[nodiscard]] static domain::SandboxSpec small_sandbox();
    Placed place(Store& store) { return value(store.place(small_sandbox(), {}, in(10s))); }

    asio::io_context io_{1};
    SystemRandom random_;
    Settings settings_;

private:
    template <class T>
    static Task<void> keep(Task<Result<T>> task, Started<T> result) {
        result->emplace(co_await std::move(task));
    }

    std::string database_;
    std::vector<std::unique_ptr<Store>> stores_;
};

}  // namespace sandbox::store
