#pragma once

#include <string>
#include <vector>

#include <sandbox/base/error.hpp>
#include <sandbox/domain/spec.hpp>
#include <sandbox/http/message.hpp>

#include "respond.hpp"

namespace sandbox::sandboxd {

/// The `state` parameters of a listing, as values of the table.
template <class E, std::size_t N>
[[nodiscard]] Result<std::vector<E>> query_states(const http::Request& request, const domain::Names<E, N>& names) {
    std::vector<E> states;
    for (const auto& [name, value] : request.query) {
        if (name != "state") continue;
        bool known = false;
        for (const auto& [text, state] : names) {
            if (text != value) continue;
            states.push_back(state);
            known = true;
        }
        if (known) continue;
        std::string allowed;
        for (const auto& [text, state] : names) allowed += (allowed.empty() ? "" : ", ") + std::string(text);
        return fail(Code::invalid_argument, "query parameter state must be one of " + allowed);
    }
    return states;
}

/// limit and cursor, which every listing has.
template <class Filter>
[[nodiscard]] Result<void> read_page(const http::Request& request, Filter& filter) {
    auto limit = query_integer(request, "limit", 1, 1000);
    if (!limit) return fail(std::move(limit.error()));
    if (*limit) filter.limit = static_cast<std::size_t>(**limit);
    auto cursor = query_cursor(request);
    if (!cursor) return fail(std::move(cursor.error()));
    filter.after = *cursor;
    return {};
}

}  // namespace sandbox::sandboxd
