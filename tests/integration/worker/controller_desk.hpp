#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <nlohmann/json.hpp>

#include <sandbox/api/messages.hpp>
#include <sandbox/async/signal.hpp>
#include <sandbox/base/json_reader.hpp>
#include <sandbox/client/client.hpp>
#include <sandbox/http/server.hpp>

namespace sandbox::sandboxd {

/// The controller's desk for workers on a real HTTP server: it hands out what the test lays on it and keeps what
/// workers say. How it behaves, of which version it is, and when it fails is the test's choice.
class ControllerDesk final : public http::Service {
public:
    ControllerDesk(asio::io_context& io, std::string bind = "127.0.0.1:0")
        : server_(io.get_executor(), http::ServerSettings{.bind = std::move(bind), .tls = std::nullopt}, *this,
                  random_) {
        if (auto listening = server_.listen(); !listening) throw std::runtime_error(listening.error().message());
        server_.start();
    }

    // What workers said, in order. "register", "heartbeat", "complete", "release" with the ids.
    std::vector<std::string> calls;
    std::vector<domain::Node> registered;
    std::vector<domain::Heartbeat> heartbeats;
    std::vector<domain::Completion> reports;
    std::vector<domain::AssignmentId> released;
    std::vector<std::int64_t> lease_limits;

    // How it answers.
    bool older = false;  // knows nothing of what was added to the contract
    std::deque<unsigned> heartbeat_failures, report_failures, lease_failures;  // statuses, one for each call
    std::size_t report_limit_bytes = 64U << 20U;                               // 413 past it
    std::vector<domain::SandboxId> remove;
    std::vector<domain::OperationId> cancel;
    bool holds_heartbeats = false;  // their answers
    int heartbeat_interval_seconds = 1;

    void lay(domain::Assignment assignment) {
        waiting_.push_back(std::move(assignment));
        work_.notify_all();
    }
    void ask_to_cancel(domain::OperationId operation) {
        cancel.push_back(operation);
        work_.notify_all();
    }
    void answer_heartbeats() {
        holds_heartbeats = false;
        work_.notify_all();
    }
    [[nodiscard]] std::string address() const { return server_.address(); }
    [[nodiscard]] client::Settings settings() const {
        return {.server = *http::Url::parse("http://" + server_.address()), .token = Secret(), .ca_file = std::nullopt};
    }

    std::expected<std::size_t, http::Response> admit(http::Request&) override { return std::size_t{64} << 20U; }
    http::Response error(unsigned status, std::string message, const std::string&) override {
        return answer(status, std::move(message));
    }
    Task<http::Response> handle(http::Request request) override {
        if (request.path == "/v1/nodes/register") co_return register_node(request);
        if (request.path.ends_with("/heartbeat")) co_return co_await heartbeat(std::move(request));
        if (request.path.ends_with("/assignments")) co_return co_await lease(std::move(request));
        if (request.path == "/v1/assignments/complete") co_return complete(request);
        if (request.path == "/v1/assignments/release" && !older) co_return release(request);
        co_return answer(404, "not found");
    }

private:
    static http::Response answer(unsigned status, std::string body) {
        http::Response response;
        response.status = status;
        response.body = std::move(body);
        return response;
    }
    static http::Response answer(const nlohmann::json& json) { return answer(200, dump_json(json)); }

    /// The next failure that the test wants, if any.
    static std::optional<unsigned> next(std::deque<unsigned>& failures) {
        if (failures.empty()) return std::nullopt;
        const auto status = failures.front();
        failures.pop_front();
        return status;
    }

    http::Response register_node(const http::Request& request) {
        calls.emplace_back("register");
        registered.push_back(api::read_register_request(request.body).value());
        nlohmann::json json{{"node_id", registered.back().id.text()},
                            {"heartbeat_interval_seconds", heartbeat_interval_seconds}};
        if (!older) json["max_output_bytes"] = 100'000;
        return answer(json);
    }
    Task<http::Response> heartbeat(http::Request request) {
        calls.emplace_back("heartbeat");
        heartbeats.push_back(api::read_heartbeat_request(request.body).value());
        if (auto status = next(heartbeat_failures)) co_return answer(*status, "");
        while (holds_heartbeats) co_await work_.wait(Deadline::max());
        if (older) co_return answer(nlohmann::json{{"ok", true}});
        api::HeartbeatAnswer said;
        said.remove = remove;
        co_return answer(nlohmann::json(said));
    }
    Task<http::Response> lease(http::Request request) {
        lease_limits.push_back(std::stoll(*request.query_value("limit")));
        if (auto status = next(lease_failures)) co_return answer(*status, "");
        if (!older && waiting_.empty() && cancel.empty()) co_await work_.wait(in(std::chrono::seconds(30)));
        api::LeaseAnswer said;
        said.cancel = cancel;
        while (!waiting_.empty() && said.assignments.size() < static_cast<std::size_t>(lease_limits.back())) {
            auto assignment = std::move(waiting_.front());
            waiting_.pop_front();
            ++assignment.attempt;
            said.assignments.push_back(std::move(assignment));
        }
        co_return answer(nlohmann::json(said));
    }
    http::Response complete(const http::Request& request) {
        if (request.body.size() > report_limit_bytes) return answer(413, "");
        if (auto status = next(report_failures)) return answer(*status, "");
        calls.emplace_back("complete");
        reports.push_back(api::read_complete_request(request.body).value());
        std::erase(cancel, reports.back().operation_id);
        return answer(nlohmann::json{{"ok", true}});
    }
    http::Response release(const http::Request& request) {
        calls.emplace_back("release");
        for (const auto& id : api::read_release_request(request.body).value()) released.push_back(id);
        return answer(nlohmann::json{{"ok", true}});
    }

    SystemRandom random_;
    std::deque<domain::Assignment> waiting_;
    async::Signal work_;
    http::Server server_;
};

}  // namespace sandbox::sandboxd
