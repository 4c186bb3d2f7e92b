#include "postgres/json.hpp"

namespace sandbox::store::postgres {

// Not parse_json: the database has made this text, and the outputs in it may hold what a request may not.
nlohmann::json json_of(const std::string& text) {
    return nlohmann::json::parse(text);
}

}  // namespace sandbox::store::postgres
