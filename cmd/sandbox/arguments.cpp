#include "arguments.hpp"

namespace sandbox::cli {
namespace {

bool is_option(std::string_view word) {
    return word.size() > 1 && word.front() == '-';
}

/// Enters an option: it may be unknown, or want the next word for its value.
void pass_option(std::string_view word, Place& place) {
    const auto equals = word.find('=');
    const std::string name(word.substr(0, equals));
    const auto known = place.command->takes_value.find(name);
    if (known == place.command->takes_value.end())
        place.unknown.push_back(name);
    else if (known->second && equals == std::string_view::npos)
        place.open_option = name;
}

}  // namespace

Place walk(const Grammar& root, std::span<const std::string> words) {
    Place place;
    place.command = &root;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const auto& word = words[i];
        place.options_end = i;
        if (!place.open_option.empty()) {
            place.open_option.clear();
            continue;
        }
        const auto start = place.command->argv_start;
        if (word == "--") {
            if (start == ArgvStart::never) continue;
            place.argv = i + 1;
            return place;
        }
        if (is_option(word)) {
            pass_option(word, place);
        } else if (const auto sub = place.command->commands.find(word); sub != place.command->commands.end()) {
            place.command = &sub->second;
            place.path.push_back(word);
        } else if (start == ArgvStart::after_first_word && !place.positionals.empty()) {
            place.argv = i;
            return place;
        } else {
            place.positionals.push_back(word);
        }
    }
    place.options_end = words.size();
    return place;
}

CutArguments cut_arguments(const Grammar& root, std::span<const std::string> words) {
    const auto place = walk(root, words);
    const auto kept = words.first(place.options_end);
    CutArguments cut{.words = {kept.begin(), kept.end()}, .argv = std::nullopt};
    if (place.argv) {
        const auto rest = words.subspan(*place.argv);
        cut.argv.emplace(rest.begin(), rest.end());
    }
    return cut;
}

}  // namespace sandbox::cli
