#pragma once

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/piped_process.hpp"

namespace sandbox::test {

/// A real sandbox-mcp, and its client's side of the two pipes.
class McpProgram {
public:
    using json = nlohmann::json;

    explicit McpProgram(const std::string& url = "http://127.0.0.1:1", std::vector<std::string> options = {},
                        Variables environment = {})
        : process_(start(url, std::move(options), std::move(environment))) {}

    [[nodiscard]] PipedProcess& process() noexcept { return process_; }

    void send_line(std::string line) { process_.write(std::move(line) + "\n"); }
    void send(const json& message) { send_line(message.dump()); }
    void notify(const std::string& method, const json& params = json::object()) {
        send({{"jsonrpc", "2.0"}, {"method", method}, {"params", params}});
    }
    /// Sends a request and gives its id.
    int request(const std::string& method, const json& params = json::object()) {
        const int id = ++last_id_;
        send({{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}});
        return id;
    }
    int call_tool(const std::string& name, const json& arguments = json::object()) {
        return request("tools/call", {{"name", name}, {"arguments", arguments}});
    }

    /// The next message; throws when none comes.
    json next(std::chrono::milliseconds limit = std::chrono::seconds(60)) {
        auto line = process_.read_line(limit);
        if (!line) throw std::runtime_error("no answer; standard error: " + process_.err());
        auto message = json::parse(*line, nullptr, false);
        if (message.is_discarded()) throw std::runtime_error("no JSON on standard output: " + *line);
        return message;
    }
    /// The answer to this id. Other answers are kept for their own turn, notifications for notifications().
    json answer_to(const json& id, std::chrono::milliseconds limit = std::chrono::seconds(60)) {
        for (auto& kept : kept_)
            if (kept["id"] == id) {
                auto found = std::move(kept);
                std::erase_if(kept_, [](const json& one) { return one.is_null(); });
                return found;
            }
        for (;;) {
            auto message = next(limit);
            if (message.contains("id") && message["id"] == id) return message;
            (message.contains("method") ? notifications_ : kept_).push_back(std::move(message));
        }
    }
    /// A request's result; throws when it was refused.
    json result(const std::string& method, const json& params = json::object()) {
        auto answer = answer_to(request(method, params));
        if (!answer.contains("result")) throw std::runtime_error(method + ": " + answer.dump());
        return answer["result"];
    }
    json error(const std::string& method, const json& params = json::object()) {
        auto answer = answer_to(request(method, params));
        if (!answer.contains("error")) throw std::runtime_error(method + " was not refused: " + answer.dump());
        return answer["error"];
    }
    json tool(const std::string& name, const json& arguments = json::object()) {
        return result("tools/call", {{"name", name}, {"arguments", arguments}});
    }
    void initialize(const std::string& version = "2025-11-25") {
        result("initialize", {{"protocolVersion", version},
                              {"capabilities", json::object()},
                              {"clientInfo", {{"name", "test"}, {"version", "1"}}}});
        notify("notifications/initialized");
    }

    /// Everything that is said in answer to these bytes: what comes before the answer to a ping that follows them.
    std::vector<json> said_to(std::string bytes) {
        process_.write(std::move(bytes));
        const auto id = "after-" + std::to_string(++last_id_);
        send({{"jsonrpc", "2.0"}, {"id", id}, {"method", "ping"}});
        std::vector<json> said;
        for (;;) {
            auto message = next();
            if (message.contains("id") && message["id"] == id) return said;
            said.push_back(std::move(message));
        }
    }

    [[nodiscard]] const std::vector<json>& notifications() const noexcept { return notifications_; }

private:
    static Start start(const std::string& url, std::vector<std::string> options, Variables environment) {
        options.insert(options.begin(), program("sandbox-mcp"));
        environment.emplace("SANDBOX_URL", url);
        return {.argv = std::move(options), .environment = std::move(environment)};
    }

    PipedProcess process_;
    int last_id_ = 0;
    std::vector<json> kept_;
    std::vector<json> notifications_;
};

/// The members that make a request one of 2026-07-28.
inline nlohmann::json july_2026(nlohmann::json params = nlohmann::json::object()) {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28";
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = nlohmann::json::object();
    return params;
}

}  // namespace sandbox::test
