#include "postgres/notes.hpp"

#include <array>
#include <charconv>
#include <optional>

namespace sandbox::store::postgres {

namespace {

/// The text up to the separator, which is taken off `rest` with it.
std::string_view next(std::string_view& rest, char separator) {
    const auto end = std::min(rest.find(separator), rest.size());
    const auto part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return part;
}

std::optional<LedgerNote> read_ledger(std::string_view text) {
    LedgerNote note;
    const auto node = domain::NodeId::parse(next(text, ','));
    if (!node) return std::nullopt;
    note.node = *node;
    std::array<std::int64_t*, 11> fields{&note.version,
                                         &note.total.cpu_millis,
                                         &note.total.memory_mib,
                                         &note.total.disk_mib,
                                         &note.total.pids,
                                         &note.used.cpu_millis,
                                         &note.used.memory_mib,
                                         &note.used.disk_mib,
                                         &note.used.pids,
                                         &note.max_sandboxes,
                                         &note.live};
    for (auto* field : fields) {
        const auto part = next(text, ',');
        const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), *field);
        if (error != std::errc() || end != part.data() + part.size()) return std::nullopt;
    }
    return note;
}

template <class Id>
void add(std::vector<Id>& ids, std::string_view text) {
    if (const auto id = Id::parse(text)) ids.push_back(*id);
}

}  // namespace

Notes Notes::parse(std::string_view text) {
    Notes notes;
    while (!text.empty()) {
        auto note = next(text, ' ');
        if (note.empty()) continue;
        const char kind = note.front();
        note.remove_prefix(1);
        switch (kind) {
            case 'w':
                add(notes.work, note);
                break;
            case 'o':
                add(notes.ended, note);
                break;
            case 'c':
                if (auto ledger = read_ledger(note)) notes.ledgers.push_back(*ledger);
                break;
            case 'g':
                add(notes.gone, note);
                break;
            case 'f':
                notes.nodes_changed = true;
                break;
            case 'l':
                notes.log_grew = true;
                break;
            default:
                break;
        }
    }
    return notes;
}

}  // namespace sandbox::store::postgres
