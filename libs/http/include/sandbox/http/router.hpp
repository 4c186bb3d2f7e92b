#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <sandbox/http/message.hpp>
#include <sandbox/http/server.hpp>

namespace sandbox::http {

using Handler = std::function<Task<Response>(Request)>;

/// One row of an API's table.
struct Route {
    std::string method;   // "GET"
    std::string pattern;  // "/v1/sandboxes/{id}/exec": {name} is one path segment
    std::size_t body_limit = 0;
    Handler handler;
    /// Runs before the body is read: an answer refuses the request (authentication, mostly). May be empty.
    std::function<std::optional<Response>(const Request& head)> guard;
    /// Whatever the table's owner wants to find again in metrics, such as the pattern.
};

/// Finds the route of a request; answers 404 and 405 (with Allow) through `error`. HEAD is served by GET's route.
class Router final : public Service {
public:
    /// Makes error answers, so that all of them have the API's shape. `status` is 400, 404, 405, 408, 413, 431, 500,
    /// 503.
    using ErrorMaker = std::function<Response(unsigned status, std::string message, const std::string& request_id)>;
    /// Called after every request with the route's pattern ("" when none matched), status and duration, also after
    /// those that the server refused by itself. A request whose client left before the answer has status kClientLeft.
    static constexpr unsigned kClientLeft = 499;
    using Observer =
        std::function<void(const Request&, std::string_view pattern, unsigned status, std::chrono::microseconds)>;

    explicit Router(ErrorMaker error);
    ~Router() override;
    void add(Route route);
    void observe(Observer observer);
    /// Every (method, pattern) in the order of adding, for checks against the OpenAPI document.
    [[nodiscard]] std::vector<std::pair<std::string, std::string>> routes() const;

    std::expected<std::size_t, Response> admit(Request& head) override;
    Task<Response> handle(Request request) override;
    Response error(unsigned status, std::string message, const std::string& request_id) override;
    void refused(const Request& head, unsigned status) override;

private:
    struct Table;
    std::unique_ptr<Table> table_;
};

}  // namespace sandbox::http
