#include <algorithm>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <sandbox/base/error.hpp>
#include <sandbox/http/router.hpp>
#include <sandbox/http/url.hpp>

namespace sandbox::http {

namespace {

using Segments = std::vector<std::string>;
using Clock = std::chrono::steady_clock;

// "/v1/x" is ["v1", "x"], "/" is [""], "/v1/" is ["v1", ""]: a slash at the end is another path.
Segments split(std::string_view path) {
    Segments segments;
    if (path.starts_with('/')) path.remove_prefix(1);
    while (true) {
        auto slash = path.find('/');
        segments.emplace_back(path.substr(0, slash));
        if (slash == std::string_view::npos) return segments;
        path.remove_prefix(slash + 1);
    }
}

bool is_parameter(std::string_view segment) {
    return segment.starts_with('{') && segment.ends_with('}');
}

struct Compiled {
    Route route;
    Segments segments;

    [[nodiscard]] bool matches(const Segments& path) const {
        return std::ranges::equal(segments, path, [](const std::string& pattern, const std::string& segment) {
            return is_parameter(pattern) ? !segment.empty() : pattern == segment;
        });
    }

    void take_parameters(const Segments& path, Request& request) const {
        for (std::size_t i = 0; i < segments.size(); ++i) {
            if (!is_parameter(segments[i])) continue;
            request.path_parameters[segments[i].substr(1, segments[i].size() - 2)] = path[i];
        }
    }
};

}  // namespace

struct Router::Table {
    ErrorMaker error;
    Observer observer;
    std::vector<Compiled> routes;

    struct Match {
        const Compiled* route = nullptr;
        std::string allow;  // the methods of the path's routes when none fits
        bool bad_encoding = false;
        Segments path;
    };

    // Split first, then decode: an encoded slash stays inside its segment.
    [[nodiscard]] Match find(const Request& request) const {
        Match match;
        for (auto& segment : split(std::string_view(request.target).substr(0, request.target.find('?')))) {
            auto decoded = percent_decode(segment);
            if (!decoded || decoded->find('\0') != std::string::npos) {
                match.bad_encoding = true;
                return match;
            }
            match.path.push_back(std::move(*decoded));
        }
        std::vector<std::string> methods;
        for (const auto& candidate : routes) {
            if (!candidate.matches(match.path)) continue;
            const auto& method = candidate.route.method;
            if (method == request.method || (method == "GET" && request.method == "HEAD")) {
                match.route = &candidate;
                return match;
            }
            methods.push_back(method);
            if (method == "GET") methods.emplace_back("HEAD");
        }
        std::ranges::sort(methods);
        auto repeated = std::ranges::unique(methods);
        methods.erase(repeated.begin(), repeated.end());
        for (const auto& method : methods) {
            if (!match.allow.empty()) match.allow += ", ";
            match.allow += method;
        }
        return match;
    }

    [[nodiscard]] Response refuse(const Match& match, const Request& request) const {
        if (match.bad_encoding) return error(400, "the path holds a malformed percent-encoding", request.request_id);
        if (match.allow.empty()) return error(404, "there is no such path", request.request_id);
        auto response =
            error(405, request.method + " is not allowed here; this path takes " + match.allow, request.request_id);
        response.headers.set("Allow", match.allow);
        return response;
    }

    void note(const Request& request, std::string_view pattern, unsigned status, Clock::time_point since) const {
        if (!observer) return;
        observer(request, pattern, status, std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - since));
    }
};

Router::Router(ErrorMaker error) : table_(std::make_unique<Table>()) {
    table_->error = std::move(error);
}

Router::~Router() = default;

void Router::add(Route route) {
    Compiled compiled{std::move(route), {}};
    compiled.segments = split(compiled.route.pattern);
    for (const auto& other : table_->routes) {
        if (other.route.method == compiled.route.method && other.route.pattern == compiled.route.pattern) {
            broken_invariant("two routes for " + compiled.route.method + " " + compiled.route.pattern);
        }
    }
    // A literal segment is nearer than a {name}, whatever the order of adding.
    auto nearer = [](const Compiled& a, const Compiled& b) {
        auto literal = [](const std::string& segment) { return !is_parameter(segment); };
        return std::ranges::lexicographical_compare(b.segments, a.segments, {}, literal, literal);
    };
    auto place = std::ranges::find_if(table_->routes, [&](const Compiled& other) {
        return other.segments.size() == compiled.segments.size() && nearer(compiled, other);
    });
    table_->routes.insert(place, std::move(compiled));
}

void Router::observe(Observer observer) {
    table_->observer = std::move(observer);
}

std::vector<std::pair<std::string, std::string>> Router::routes() const {
    std::vector<std::pair<std::string, std::string>> list;
    for (const auto& compiled : table_->routes) list.emplace_back(compiled.route.method, compiled.route.pattern);
    return list;
}

std::expected<std::size_t, Response> Router::admit(Request& head) {
    auto begin = Clock::now();
    auto match = table_->find(head);
    if (match.route == nullptr) {
        auto response = table_->refuse(match, head);
        table_->note(head, {}, response.status, begin);
        return std::unexpected(std::move(response));
    }
    match.route->take_parameters(match.path, head);
    const auto& route = match.route->route;
    if (route.guard) {
        if (auto refusal = route.guard(head)) {
            table_->note(head, route.pattern, refusal->status, begin);
            return std::unexpected(std::move(*refusal));
        }
    }
    return route.body_limit;
}

Task<Response> Router::handle(Request request) {
    auto begin = Clock::now();
    auto match = table_->find(request);
    if (match.route == nullptr) co_return table_->refuse(match, request);
    const auto& route = match.route->route;
    if (!table_->observer) co_return co_await route.handler(std::move(request));

    auto body = std::exchange(request.body, {});
    Request seen = request;  // without the body, which may be large
    request.body = std::move(body);
    // What escapes from a handler is answered with 500 by the server; a cancelled one is answered to nobody.
    std::exception_ptr failure;
    unsigned status = 500;
    Response response;
    try {
        response = co_await route.handler(std::move(request));
        status = response.status;
    } catch (const boost::system::system_error& error) {
        failure = std::current_exception();
        if (error.code() == asio::error::operation_aborted) status = kClientLeft;
    } catch (...) {
        failure = std::current_exception();
    }
    table_->note(seen, route.pattern, status, begin);
    if (failure) std::rethrow_exception(failure);
    co_return response;
}

Response Router::error(unsigned status, std::string message, const std::string& request_id) {
    return table_->error(status, std::move(message), request_id);
}

void Router::refused(const Request& head, unsigned status) {
    const auto match = table_->find(head);
    table_->note(head, match.route == nullptr ? std::string_view() : match.route->route.pattern, status, Clock::now());
}

}  // namespace sandbox::http
