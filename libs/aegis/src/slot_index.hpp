#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sandbox::aegis {

/// A node's place in the fleet's arrays.
using Slot = std::uint32_t;

/// A set of slots, one bit each.
class SlotSet {
public:
    void insert(Slot slot);
    void erase(Slot slot);
    [[nodiscard]] bool contains(Slot slot) const noexcept {
        const auto word = slot / 64;
        return word < words_.size() && ((words_[word] >> (slot % 64)) & 1U) != 0;
    }
    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

private:
    std::vector<std::uint64_t> words_;
    std::size_t count_ = 0;
};

/// Which slots have a string: an image, a label, a region. A string that no slot has takes no memory.
class SlotIndex {
public:
    void insert(std::string_view text, Slot slot);
    void erase(std::string_view text, Slot slot);
    /// nullptr when no slot has it.
    [[nodiscard]] const SlotSet* find(std::string_view text) const;

private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
    };
    std::unordered_map<std::string, SlotSet, Hash, std::equal_to<>> sets_;
};

/// How often each slot has a string; a slot with none is not listed.
class SlotCounts {
public:
    struct Entry {
        Slot slot = 0;
        std::uint32_t count = 0;
    };

    void add(const std::string& text, Slot slot);
    /// false when the slot does not have it.
    bool subtract(const std::string& text, Slot slot);
    [[nodiscard]] std::span<const Entry> find(const std::string& text) const;

private:
    std::unordered_map<std::string, std::vector<Entry>> entries_;  // each sorted by slot
};

}  // namespace sandbox::aegis
