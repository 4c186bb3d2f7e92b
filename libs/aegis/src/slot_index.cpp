#include "slot_index.hpp"

#include <algorithm>

namespace sandbox::aegis {

void SlotSet::insert(Slot slot) {
    const auto word = slot / 64;
    if (word >= words_.size()) words_.resize(word + 1);
    const auto bit = std::uint64_t{1} << (slot % 64);
    if ((words_[word] & bit) == 0) ++count_;
    words_[word] |= bit;
}

void SlotSet::erase(Slot slot) {
    if (!contains(slot)) return;
    words_[slot / 64] &= ~(std::uint64_t{1} << (slot % 64));
    --count_;
}

void SlotIndex::insert(std::string_view text, Slot slot) {
    auto found = sets_.find(text);
    if (found == sets_.end()) found = sets_.emplace(std::string(text), SlotSet{}).first;
    found->second.insert(slot);
}

void SlotIndex::erase(std::string_view text, Slot slot) {
    const auto found = sets_.find(text);
    if (found == sets_.end()) return;
    found->second.erase(slot);
    if (found->second.empty()) sets_.erase(found);
}

const SlotSet* SlotIndex::find(std::string_view text) const {
    const auto found = sets_.find(text);
    return found == sets_.end() ? nullptr : &found->second;
}

void SlotCounts::add(const std::string& text, Slot slot) {
    auto& entries = entries_[text];
    const auto place = std::ranges::lower_bound(entries, slot, {}, &Entry::slot);
    if (place != entries.end() && place->slot == slot)
        ++place->count;
    else
        entries.insert(place, {slot, 1});
}

bool SlotCounts::subtract(const std::string& text, Slot slot) {
    const auto found = entries_.find(text);
    if (found == entries_.end()) return false;
    auto& entries = found->second;
    const auto place = std::ranges::lower_bound(entries, slot, {}, &Entry::slot);
    if (place == entries.end() || place->slot != slot) return false;
    if (--place->count == 0) entries.erase(place);
    if (entries.empty()) entries_.erase(found);
    return true;
}

std::span<const SlotCounts::Entry> SlotCounts::find(const std::string& text) const {
    const auto found = entries_.find(text);
    return found == entries_.end() ? std::span<const Entry>{} : std::span<const Entry>(found->second);
}

}  // namespace sandbox::aegis
