#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sandbox/base/json_reader.hpp>
#include <sandbox/base/text.hpp>

#include "json_path.hpp"

namespace sandbox {
namespace {

constexpr std::size_t kReported = 20;
constexpr std::size_t kNameLimit = 64;
constexpr std::size_t kPathLimit = 256;
constexpr std::size_t kProblemLimit = 1024;

bool is_plain(std::string_view name) {
    auto plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    };
    return !name.empty() && std::ranges::all_of(name, plain);
}

std::optional<std::int64_t> integer_in(const nlohmann::json& value, std::int64_t min, std::int64_t max) {
    std::int64_t result = 0;
    if (value.is_number_unsigned()) {
        auto number = value.get<std::uint64_t>();
        if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
        result = static_cast<std::int64_t>(number);
    } else if (value.is_number_integer()) {
        result = value.get<std::int64_t>();
    } else {
        return std::nullopt;
    }
    if (result < min || result > max) return std::nullopt;
    return result;
}

std::string integer_rule(std::int64_t min, std::int64_t max) {
    using Limits = std::numeric_limits<std::int64_t>;
    if (max != Limits::max()) return fmt::format("an integer from {} to {}", min, max);
    if (min != Limits::min()) return fmt::format("an integer of at least {}", min);
    return "an integer";
}

}  // namespace

std::string member_path(std::string_view parent, std::string_view name) {
    auto shown = shortened(name, kNameLimit);
    if (is_plain(shown)) return parent.empty() ? shown : fmt::format("{}.{}", parent, shown);
    return fmt::format("{}[{}]", parent, dump_json(shown));
}

std::string element_path(std::string_view parent, std::size_t index) {
    return fmt::format("{}[{}]", parent, index);
}

void Problems::add(std::string_view path, std::string_view what) {
    if (full()) {
        ++left_out_;
        return;
    }
    auto subject = path.empty() ? std::string("the document ") : shortened(path, kPathLimit) + ": ";
    items_.push_back(subject + shortened(what, kProblemLimit));
}

Error Problems::to_error() const {
    std::string message;
    for (const auto& item : items_ | std::views::take(kReported)) {
        if (!message.empty()) message += "; ";
        message += item;
    }
    if (auto all = items_.size() + left_out_; all > kReported) message += fmt::format("; and {} more", all - kReported);
    return {Code::invalid_argument, std::move(message)};
}

ObjectReader::ObjectReader(const nlohmann::json& value, std::string path, Problems& problems, UnknownFields unknown)
    : object_(value.is_object() ? &value : nullptr), path_(std::move(path)), problems_(problems), unknown_(unknown) {
    if (!object_) problems_.add(path_, "must be an object");
}

const nlohmann::json* ObjectReader::field(std::string_view name) {
    if (std::ranges::find(known_, name) == known_.end()) known_.emplace_back(name);
    if (!object_) return nullptr;
    auto found = object_->find(name);
    return found == object_->end() || found->is_null() ? nullptr : &*found;
}

bool ObjectReader::has(std::string_view name) {
    return field(name) != nullptr;
}

const nlohmann::json* ObjectReader::required_field(std::string_view name) {
    const auto* value = field(name);
    if (object_ && !value) problem(name, "is required");
    return value;
}

std::string ObjectReader::path_of(std::string_view name) const {
    return member_path(path_, name);
}

void ObjectReader::problem(std::string_view name, std::string_view what) {
    problems_.add(path_of(name), what);
}

std::string ObjectReader::string(std::string_view name) {
    if (object_ && !has(name)) problem(name, "is required: a string");
    return optional_string(name).value_or("");
}

std::int64_t ObjectReader::integer(std::string_view name, std::int64_t min, std::int64_t max) {
    if (object_ && !has(name)) problem(name, "is required: " + integer_rule(min, max));
    return optional_integer(name, min, max).value_or(min);
}

bool ObjectReader::boolean(std::string_view name) {
    if (object_ && !has(name)) problem(name, "is required: true or false");
    return boolean_or(name, false);
}

std::optional<std::string> ObjectReader::optional_string(std::string_view name) {
    const auto* value = field(name);
    if (!value) return std::nullopt;
    if (const auto* text = value->get_ptr<const nlohmann::json::string_t*>()) return *text;
    problem(name, "must be a string");
    return std::nullopt;
}

std::optional<std::int64_t> ObjectReader::optional_integer(std::string_view name, std::int64_t min, std::int64_t max) {
    const auto* value = field(name);
    if (!value) return std::nullopt;
    auto number = integer_in(*value, min, max);
    if (!number) problem(name, "must be " + integer_rule(min, max));
    return number;
}

std::optional<double> ObjectReader::optional_number(std::string_view name, double min, double max) {
    const auto* value = field(name);
    if (!value) return std::nullopt;
    if (value->is_number()) {
        auto number = value->get<double>();
        if (std::isfinite(number) && number >= min && number <= max) return number;
    }
    problem(name, fmt::format("must be a number from {} to {}", min, max));
    return std::nullopt;
}

bool ObjectReader::boolean_or(std::string_view name, bool otherwise) {
    const auto* value = field(name);
    if (!value) return otherwise;
    if (value->is_boolean()) return value->get<bool>();
    problem(name, "must be true or false");
    return otherwise;
}

std::vector<std::string> ObjectReader::strings(std::string_view name) {
    std::vector<std::string> result;
    for (const auto& [value, path] : array(name)) {
        if (const auto* text = value.get_ptr<const nlohmann::json::string_t*>())
            result.push_back(*text);
        else
            problems_.add(path, "must be a string");
    }
    return result;
}

std::map<std::string, std::string> ObjectReader::string_map(std::string_view name) {
    std::map<std::string, std::string> result;
    const auto* value = field(name);
    if (!value) return result;
    if (!value->is_object()) {
        problem(name, "must be an object of strings");
        return result;
    }
    for (const auto& [key, entry] : value->items()) {
        if (const auto* text = entry.get_ptr<const nlohmann::json::string_t*>())
            result.emplace(key, *text);
        else
            problems_.add(member_path(path_of(name), key), "must be a string");
    }
    return result;
}

std::vector<ObjectReader::Element> ObjectReader::array(std::string_view name) {
    std::vector<Element> elements;
    const auto* value = field(name);
    if (!value) return elements;
    if (!value->is_array()) {
        problem(name, "must be an array");
        return elements;
    }
    auto path = path_of(name);
    elements.reserve(value->size());
    for (const auto& element : *value) elements.push_back({element, element_path(path, elements.size())});
    return elements;
}

void ObjectReader::finish() {
    if (!object_ || unknown_ == UnknownFields::ignore) return;
    const std::vector<std::string_view> real(known_.begin(), known_.end());
    for (const auto& [name, value] : object_->items()) {
        if (std::ranges::find(real, name) != real.end()) continue;
        auto meant = problems_.full() ? std::nullopt : nearest(name, real);
        problem(name, meant ? fmt::format("unknown field; did you mean \"{}\"?", *meant) : "unknown field");
    }
}

}  // namespace sandbox
