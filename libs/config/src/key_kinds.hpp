#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "forms.hpp"
#include "key.hpp"

/// One maker for each kind of key. `Field` is a generic lambda that names the member: [](auto& c) -> auto& { … }.
namespace sandbox::config::kinds {

/// Fills what follows from the rest.
inline Key finished(Key key) {
    static const Config defaults;
    key.default_text = key.write(defaults);
    if (key.default_text.empty()) key.default_text = "none";
    return key;
}

/// The same key, with its default in words: for those that are no constant.
inline Key with_default(Key key, std::string words) {
    key.default_text = std::move(words);
    return key;
}

template <class Field>
Key integer(std::string_view path, Field field, std::int64_t min, std::int64_t max, std::string_view meaning) {
    Key key;
    key.path = path;
    key.kind = Kind::integer;
    key.expects = fmt::format("an integer from {} to {}", min, max);
    key.meaning = meaning;
    key.read = [field](Config& config, const toml::node& node) {
        const auto* value = node.as_integer();
        if (value != nullptr) field(config) = value->get();
        return value != nullptr;
    };
    key.holds = [field, min, max](const Config& config) {
        const std::optional<std::int64_t> value = field(config);
        return !value || (*value >= min && *value <= max);
    };
    key.write = [field](const Config& config) {
        const std::optional<std::int64_t> value = field(config);
        return value ? std::to_string(*value) : std::string();
    };
    return finished(std::move(key));
}

template <class Field>
Key boolean(std::string_view path, Field field, std::string_view meaning) {
    Key key;
    key.path = path;
    key.kind = Kind::boolean;
    key.expects = "true or false";
    key.meaning = meaning;
    key.read = [field](Config& config, const toml::node& node) {
        const auto* value = node.as_boolean();
        if (value != nullptr) field(config) = value->get();
        return value != nullptr;
    };
    key.holds = [](const Config&) { return true; };
    key.write = [field](const Config& config) { return std::string(field(config) ? "true" : "false"); };
    return finished(std::move(key));
}

/// A string that always has a value.
template <class Field>
Key text(std::string_view path, Field field, const Form& form, std::string_view meaning) {
    Key key;
    key.path = path;
    key.may_be_empty = form.holds("");
    key.expects = form.expects;
    key.meaning = meaning;
    key.read = [field](Config& config, const toml::node& node) {
        const auto* value = node.as_string();
        if (value != nullptr) field(config) = value->get();
        return value != nullptr;
    };
    key.holds = [field, &form](const Config& config) { return form.holds(field(config)); };
    key.write = [field](const Config& config) { return toml_string(field(config)); };
    return finished(std::move(key));
}

/// A string that may be absent; an empty one is the same as none.
template <class Field>
Key optional_text(std::string_view path, Field field, const Form& form, std::string_view meaning) {
    Key key;
    key.path = path;
    key.expects = form.expects;
    key.meaning = meaning;
    key.read = [field](Config& config, const toml::node& node) {
        const auto* value = node.as_string();
        if (value == nullptr) return false;
        if (value->get().empty())
            field(config).reset();
        else
            field(config) = value->get();
        return true;
    };
    key.holds = [field, &form](const Config& config) { return !field(config) || form.holds(*field(config)); };
    key.write = [field](const Config& config) { return field(config) ? toml_string(*field(config)) : std::string(); };
    return finished(std::move(key));
}

/// A Secret; an empty one is the same as none.
template <class Field>
Key secret(std::string_view path, Field field, const Form& form, std::string_view meaning) {
    Key key;
    key.path = path;
    key.secret = true;
    key.expects = form.expects;
    key.meaning = meaning;
    key.read = [field](Config& config, const toml::node& node) {
        const auto* value = node.as_string();
        if (value != nullptr) field(config) = Secret(value->get());
        return value != nullptr;
    };
    key.holds = [field, &form](const Config& config) {
        return field(config).empty() || form.holds(field(config).reveal());
    };
    key.write = [field](const Config& config) {
        return field(config).empty() ? std::string() : toml_string(field(config).reveal());
    };
    return finished(std::move(key));
}

/// One of an enum's names; the field is the enum or an optional of it.
template <class Names, class Field>
Key choice(std::string_view path, Field field, const Names& names, std::string_view meaning) {
    using Value = typename Names::value_type::second_type;
    Key key;
    key.path = path;
    key.meaning = meaning;
    key.expects = "one of";
    for (const auto& [name, value] : names)
        key.expects += fmt::format("{} {}", &name == &names[0].first ? "" : ",", name);
    key.read = [field, &names](Config& config, const toml::node& node) {
        const auto* text = node.as_string();
        if (text == nullptr) return false;
        for (const auto& [name, value] : names) {
            if (name != text->get()) continue;
            field(config) = value;
            return true;
        }
        return false;
    };
    key.holds = [](const Config&) { return true; };
    key.write = [field, &names](const Config& config) {
        const std::optional<Value> present = field(config);
        if (!present) return std::string();
        for (const auto& [name, value] : names)
            if (value == *present) return toml_string(name);
        return std::string();
    };
    return finished(std::move(key));
}

/// A list of strings, each of which keeps the form.
template <class Field>
Key list(std::string_view path, Field field, const Form& form, std::string_view meaning) {
    Key key;
    key.path = path;
    key.kind = Kind::list;
    key.expects = form.expects;
    key.meaning = meaning;
    key.read = [field](Config& config, const toml::node& node) {
        const auto* array = node.as_array();
        if (array == nullptr) return false;
        std::vector<std::string> values;
        for (const auto& element : *array) {
            const auto* value = element.as_string();
            if (value == nullptr) return false;
            values.push_back(value->get());
        }
        field(config) = std::move(values);
        return true;
    };
    key.holds = [field, &form](const Config& config) {
        for (const auto& value : field(config))
            if (!form.holds(value)) return false;
        return true;
    };
    key.write = [field](const Config& config) {
        std::vector<std::string> values;
        for (const auto& value : field(config)) values.push_back(toml_string(value));
        return fmt::format("[{}]", fmt::join(values, ", "));
    };
    return finished(std::move(key));
}

}  // namespace sandbox::config::kinds
