#include "no_capacity.hpp"

#include <nlohmann/json.hpp>

namespace sandbox::store {

Error no_capacity(const aegis::Refusal& refusal) {
    std::string why;
    for (const auto& [gate, count] : refusal.rejected)
        why += (why.empty() ? "" : ", ") + gate + " " + std::to_string(count);
    auto message = refusal.nodes == 0 ? std::string("no node is registered")
                                      : "none of " + std::to_string(refusal.nodes) + " nodes can take a " +
                                            std::string(to_text(refusal.tier)) + " sandbox like this: " + why;
    const nlohmann::json details{{"nodes", refusal.nodes}, {"rejected", refusal.rejected}};
    return Error(Code::resource_exhausted, std::move(message)).with_details(details.dump());
}

}  // namespace sandbox::store
