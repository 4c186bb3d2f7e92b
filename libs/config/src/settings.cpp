#include "settings.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include <sandbox/base/text.hpp>

namespace sandbox::config {
namespace {

constexpr std::string_view kPrefix = "SANDBOX__";
constexpr std::string_view kFileSuffix = "_FILE";
constexpr std::size_t kFileLimitBytes = 1 << 20;

template <class T>
void put(Settings& settings, std::string_view path, T&& value, std::string source) {
    Setting setting;
    setting.holder.insert_or_assign("value", std::forward<T>(value));
    setting.source = std::move(source);
    settings.insert_or_assign(std::string(path), std::move(setting));
}

Result<std::string> read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return fail(Code::invalid_argument, fmt::format("{} cannot be read", path));
    std::string text;
    text.resize(kFileLimitBytes + 1);
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (file.bad()) return fail(Code::invalid_argument, fmt::format("{} cannot be read", path));
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (text.size() > kFileLimitBytes)
        return fail(Code::invalid_argument, fmt::format("{} is larger than 1 MiB", path));
    return text;
}

std::string hint_for(std::string_view name, const std::vector<std::string>& candidates) {
    const std::vector<std::string_view> views(candidates.begin(), candidates.end());
    const auto near = nearest(name, views);
    return near ? fmt::format("; did you mean {}?", *near) : std::string("; docs/configuration.md lists the keys");
}

Error unknown_key(std::string_view path, std::string_view source) {
    std::vector<std::string> candidates;
    for (const auto& key : all_keys()) candidates.emplace_back(key.path);
    return Error(Code::invalid_argument, fmt::format("{} ({}): there is no such key{}", shortened(path, 200), source,
                                                     hint_for(path, candidates)));
}

/// A section such as "server" or the document itself ("").
bool is_section(std::string_view path) {
    return std::ranges::any_of(all_keys(), [&](const Key& key) {
        return key.path.size() > path.size() && key.path.starts_with(path) && key.path[path.size()] == '.';
    });
}

Result<void> add_table(Settings& settings, const toml::table& table, const std::string& prefix,
                       const std::string& file) {
    for (const auto& [name, node] : table) {
        const auto path = prefix.empty() ? std::string(name.str()) : fmt::format("{}.{}", prefix, name.str());
        const auto source = fmt::format("{}:{}", file, name.source().begin.line);
        if (find_key(path) != nullptr) {
            put(settings, path, node, source);
        } else if (!is_section(path)) {
            return fail(unknown_key(to_utf8(path), source));
        } else if (const auto* section = node.as_table()) {
            if (auto added = add_table(settings, *section, path, file); !added) return added;
        } else {
            return fail(Code::invalid_argument, fmt::format("{} ({}): must be a table of keys", path, source));
        }
    }
    return {};
}

/// Whether the line of a syntax error may hold a secret, so that the parser's words about it must not be shown.
bool names_secret(std::string_view text, std::size_t line) {
    for (; line > 1; --line) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
    text = text.substr(0, text.find('\n'));
    return std::ranges::any_of(all_keys(), [&](const Key& key) {
        return key.secret && text.find(key.path.substr(key.path.rfind('.') + 1)) != std::string_view::npos;
    });
}

/// The TOML value that stands alone in `text`.
std::optional<toml::table> parse_value(std::string_view text) {
    if (text.find('\n') != std::string_view::npos) return std::nullopt;
    try {
        auto table = toml::parse(fmt::format("value = {}", text));
        if (table.size() == 1) return table;
    } catch (const toml::parse_error&) {
        return std::nullopt;  // the caller says what the key wants
    }
    return std::nullopt;
}

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

toml::array split(std::string_view text) {
    toml::array values;
    while (!text.empty()) {
        const auto comma = text.find(',');
        if (const auto item = trimmed(text.substr(0, comma)); !item.empty()) values.push_back(std::string(item));
        if (comma == std::string_view::npos) break;
        text.remove_prefix(comma + 1);
    }
    return values;
}

/// By the key's kind. What can't be parsed stays text, and the key's own check refuses it.
void put_text(Settings& settings, const Key& key, const std::string& text, const std::string& source) {
    const auto bare = trimmed(text);
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(bare.data(), bare.data() + bare.size(), number);
    if (key.kind == Kind::integer && !bare.empty() && error == std::errc{} && end == bare.data() + bare.size()) {
        put(settings, key.path, number, source);
    } else if (key.kind == Kind::boolean && (bare == "true" || bare == "false")) {
        put(settings, key.path, bare == "true", source);
    } else if (key.kind == Kind::list && !bare.starts_with('[')) {
        put(settings, key.path, split(bare), source);
    } else if (auto value = key.kind == Kind::list || key.kind == Kind::table ? parse_value(bare) : std::nullopt) {
        put(settings, key.path, *value->get("value"), source);
    } else {
        put(settings, key.path, text, source);
    }
}

std::string lower(std::string_view text) {
    std::string out(text);
    for (auto& c : out)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return out;
}

/// SANDBOX__NODE__LABELS__POOL: the key of kind table and the entry's name in lower case.
std::optional<std::pair<const Key*, std::string>> find_entry(std::string_view variable) {
    for (const auto& key : all_keys()) {
        const auto prefix = variable_of(key.path) + "__";
        if (key.kind == Kind::table && variable.starts_with(prefix) && variable.size() > prefix.size())
            return std::pair(&key, lower(variable.substr(prefix.size())));
    }
    return std::nullopt;
}

/// One entry over what the file, or the variable for the whole table, says.
void put_entry(Settings& settings, const Key& key, const std::string& name, const std::string& text,
               const std::string& source) {
    toml::table table;
    if (const auto given = settings.find(key.path); given != settings.end() && given->second.value().is_table())
        table = *given->second.value().as_table();
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    // Labels are text, also when they look like numbers.
    if (key.path == "node.resources" && error == std::errc{} && end == text.data() + text.size())
        table.insert_or_assign(name, number);
    else
        table.insert_or_assign(name, text);
    put(settings, key.path, std::move(table), source);
}

const Key* find_by_variable(std::string_view variable) {
    const auto keys = all_keys();
    const auto found = std::ranges::find_if(keys, [&](const Key& key) { return variable_of(key.path) == variable; });
    return found == keys.end() ? nullptr : &*found;
}

/// The secret key that SANDBOX__…_FILE means; nullptr for other variables.
const Key* find_by_file_variable(std::string_view variable) {
    if (!variable.ends_with(kFileSuffix)) return nullptr;
    const auto* key = find_by_variable(variable.substr(0, variable.size() - kFileSuffix.size()));
    return key != nullptr && key->secret ? key : nullptr;
}

Result<void> add_secret_file(Settings& settings, const Key& key, const std::string& variable, const std::string& path,
                             const std::map<std::string, std::string>& environment) {
    if (path.empty()) return {};
    const auto direct = environment.find(variable_of(key.path));
    if (direct != environment.end() && !direct->second.empty())
        return fail(Code::invalid_argument,
                    fmt::format("{}: both {} and {} are set; keep one of them", key.path, direct->first, variable));
    auto text = read_file(path);
    if (!text) return fail(std::move(text.error()).in(fmt::format("{} ({})", key.path, variable)));
    if (text->ends_with('\n')) text->pop_back();
    if (text->ends_with('\r')) text->pop_back();
    if (text->empty())
        return fail(Code::invalid_argument, fmt::format("{} ({}): {} is empty", key.path, variable, path));
    put(settings, key.path, *text, variable);
    return {};
}

Error unknown_variable(std::string_view variable) {
    std::vector<std::string> candidates;
    for (const auto& key : all_keys()) {
        candidates.push_back(variable_of(key.path));
        if (key.secret) candidates.push_back(candidates.back() + std::string(kFileSuffix));
    }
    return Error(Code::invalid_argument, fmt::format("{}: there is no such key{}", to_utf8(shortened(variable, 200)),
                                                     hint_for(variable, candidates)));
}

}  // namespace

std::string variable_of(std::string_view path) {
    std::string name(kPrefix);
    for (const char c : path) {
        if (c == '.')
            name += "__";
        else
            name += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    }
    return name;
}

Result<void> add_file(Settings& settings, const std::string& path, const std::string& name) {
    auto text = read_file(path);
    if (!text) return fail(std::move(text.error()).in("configuration file"));
    try {
        return add_table(settings, toml::parse(*text), "", name);
    } catch (const toml::parse_error& error) {
        const auto line = error.source().begin.line;
        const auto why = names_secret(*text, line) ? std::string("this line is not TOML (its value is not shown)")
                                                   : shortened(to_utf8(error.description()), 300);
        return fail(Code::invalid_argument, fmt::format("{}:{}: {}", name, line, why));
    }
}

Result<void> add_environment(Settings& settings, const std::map<std::string, std::string>& environment) {
    if (const auto host = environment.find("DOCKER_HOST");
        host != environment.end() && !host->second.empty() && !settings.contains("node.docker_host"))
        put(settings, "node.docker_host", host->second, "DOCKER_HOST");
    if (const auto level = environment.find("SANDBOX_LOG"); level != environment.end() && !level->second.empty())
        put(settings, "log.level", level->second, "SANDBOX_LOG");

    // A variable for a whole table sorts before those for its entries, and so they stand over it.
    for (const auto& [variable, text] : environment) {
        if (!variable.starts_with(kPrefix)) continue;
        if (const auto* key = find_by_variable(variable)) {
            // Compose files pass unset variables on as empty ones.
            if (!text.empty() || key->may_be_empty) put_text(settings, *key, text, variable);
        } else if (const auto entry = find_entry(variable)) {
            put_entry(settings, *entry->first, entry->second, text, variable);
        } else if (const auto* secret = find_by_file_variable(variable)) {
            if (auto added = add_secret_file(settings, *secret, variable, text, environment); !added) return added;
        } else {
            return fail(unknown_variable(variable));
        }
    }
    return {};
}

Error wrong_value(const Key& key, const Setting& setting) {
    const auto& node = setting.value();
    std::string given;
    if (key.secret || node.is_table() || node.is_array())
        given = "";
    else if (const auto* text = node.as_string())
        given = fmt::format(", not {}", toml_string(shortened(to_utf8(text->get()), 80)));
    else if (const auto* number = node.as_integer())
        given = fmt::format(", not {}", number->get());
    else if (const auto* boolean = node.as_boolean())
        given = fmt::format(", not {}", boolean->get());
    return Error(Code::invalid_argument,
                 fmt::format("{} ({}): must be {}{}", key.path, setting.source, key.expects, given));
}

}  // namespace sandbox::config
