#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sandbox/base/json_reader.hpp>
#include <sandbox/base/text.hpp>

#include "json_path.hpp"

namespace sandbox {
namespace {

using nlohmann::json;

constexpr std::size_t kMostDepth = 64;

std::string line_and_column(std::string_view text, std::size_t position) {
    auto before = text.substr(0, position);
    auto line_start = before.rfind('\n');
    auto line = 1 + std::count(before.begin(), before.end(), '\n');
    auto column = line_start == std::string_view::npos ? before.size() : before.size() - line_start - 1;
    return fmt::format("line {}, column {}", line, column);
}

/// The parser's own reason without its prefix, and without the last token: that may be part of a secret.
std::string reason(std::string_view what) {
    if (auto start = what.find("while parsing "); start != std::string_view::npos) what.remove_prefix(start);
    return std::string(what.substr(0, what.find("; last read")));
}

/// Builds the value while it checks what the parser itself lets pass: depth, keys given twice, NUL.
class StrictHandler final : public json::json_sax_t {
public:
    StrictHandler(std::string_view text, std::span<const std::string_view> may_hold_nul)
        : text_(text), may_hold_nul_(may_hold_nul) {}

    bool null() override { return put(nullptr); }
    bool boolean(bool value) override { return put(value); }
    bool number_integer(number_integer_t value) override { return put(value); }
    bool number_unsigned(number_unsigned_t value) override { return put(value); }
    bool number_float(number_float_t value, const string_t&) override { return put(value); }
    bool binary(binary_t&) override { return false; }  // not in JSON text
    bool string(string_t& value) override {
        if (value.find('\0') != string_t::npos && !nul_is_allowed()) return refuse(next_path(), "must not contain NUL");
        return put(std::move(value));
    }

    bool start_object(std::size_t) override { return open(json::object()); }
    bool start_array(std::size_t) override { return open(json::array()); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool key(string_t& name) override {
        if (name.find('\0') != string_t::npos && !nul_is_allowed_below(path()))
            return refuse(path(), "a field's name must not contain NUL");
        if (open_.back()->contains(name)) return refuse(member_path(path(), name), "is given twice");
        key_ = std::move(name);
        return true;
    }

    bool parse_error(std::size_t position, const std::string&, const json::exception& error) override {
        problem_ = fmt::format("not valid JSON at {}: {}", line_and_column(text_, position), reason(error.what()));
        return false;
    }

    [[nodiscard]] json& value() { return root_; }
    [[nodiscard]] const std::string& problem() const { return problem_; }

private:
    json* place(json value) {
        if (open_.empty()) {
            root_ = std::move(value);
            return &root_;
        }
        auto& parent = *open_.back();
        if (parent.is_array()) {
            parent.push_back(std::move(value));
            return &parent.back();
        }
        keys_.back() = key_;
        return &(parent[std::move(key_)] = std::move(value));
    }
    bool put(json value) {
        place(std::move(value));
        return true;
    }
    bool open(json container) {
        if (open_.size() == kMostDepth)
            return refuse("", fmt::format("is nested more than {} levels deep", kMostDepth));
        // The pointer stays good: nothing is added to a parent while its last element is open.
        open_.push_back(place(std::move(container)));
        keys_.emplace_back();
        return true;
    }
    bool close() {
        open_.pop_back();
        keys_.pop_back();
        return true;
    }

    /// Of the innermost open container.
    [[nodiscard]] std::string path() const {
        std::string path;
        for (std::size_t i = 0; i + 1 < open_.size(); ++i)
            path = open_[i]->is_array() ? element_path(path, open_[i]->size() - 1) : member_path(path, keys_[i]);
        return path;
    }
    /// Of the value that comes next.
    [[nodiscard]] std::string next_path() const {
        if (open_.empty()) return "";
        return open_.back()->is_array() ? element_path(path(), open_.back()->size()) : member_path(path(), key_);
    }
    [[nodiscard]] bool nul_is_allowed() const {
        if (may_hold_nul_.empty()) return false;
        auto path = next_path();
        if (nul_is_allowed_below(this->path())) return true;
        return std::ranges::any_of(may_hold_nul_, [&](std::string_view end) {
            if (!path.ends_with(end)) return false;
            return path.size() == end.size() || path[path.size() - end.size() - 1] == '.';
        });
    }
    /// Whether all is allowed to hold NUL that is in this container.
    [[nodiscard]] bool nul_is_allowed_below(std::string_view container) const {
        return std::ranges::any_of(may_hold_nul_, [&](std::string_view all) {
            if (!all.ends_with(".*")) return false;
            all.remove_suffix(2);
            if (!container.starts_with(all)) return false;
            return container.size() == all.size() || container[all.size()] == '.' || container[all.size()] == '[';
        });
    }
    bool refuse(std::string_view where, std::string_view what) {
        Problems problems;
        problems.add(where, what);
        problem_ = problems.items().front();
        return false;
    }

    std::string_view text_;
    std::span<const std::string_view> may_hold_nul_;
    json root_;
    std::vector<json*> open_;
    std::vector<std::string> keys_;  // of each open object, the member that is open
    std::string key_;
    std::string problem_;
};

}  // namespace

Result<json> parse_json(std::string_view text, std::span<const std::string_view> may_hold_nul) {
    StrictHandler handler(text, may_hold_nul);
    if (json::sax_parse(text, &handler)) return std::move(handler.value());
    return fail(Code::invalid_argument, handler.problem());
}

std::string dump_json(const json& value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string dump_json_pretty(const json& value) {
    return value.dump(2, ' ', false, json::error_handler_t::replace);
}

}  // namespace sandbox
