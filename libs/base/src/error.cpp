#include <cstdio>
#include <cstdlib>

#include <sandbox/base/error.hpp>

namespace sandbox {

std::string_view to_text(Code code) noexcept {
    switch (code) {
        case Code::invalid_argument:
            return "invalid_argument";
        case Code::unauthenticated:
            return "unauthenticated";
        case Code::permission_denied:
            return "permission_denied";
        case Code::not_found:
            return "not_found";
        case Code::conflict:
            return "conflict";
        case Code::resource_exhausted:
            return "resource_exhausted";
        case Code::deadline_exceeded:
            return "deadline_exceeded";
        case Code::cancelled:
            return "cancelled";
        case Code::unavailable:
            return "unavailable";
        case Code::internal:
            return "internal";
    }
    return "internal";
}

Error Error::in(std::string_view context) && {
    message_.insert(0, ": ");
    message_.insert(0, context);
    return std::move(*this);
}

Error Error::with_details(std::string json_object) && {
    details_ = std::move(json_object);
    return std::move(*this);
}

void broken_invariant(std::string_view what) {
    // Not through the log: its state may be part of what is broken.
    std::fprintf(stderr, "broken invariant: %.*s\n", static_cast<int>(what.size()), what.data());
    std::abort();
}

}  // namespace sandbox
