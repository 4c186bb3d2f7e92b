#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace sandbox {

/// A token or password. Nothing prints it: what wants the bytes must call reveal().
class Secret {
public:
    Secret() = default;
    explicit Secret(std::string value) : value_(std::move(value)) {}

    [[nodiscard]] bool empty() const noexcept { return value_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return value_.size(); }
    [[nodiscard]] const std::string& reveal() const noexcept { return value_; }
    /// Takes the same time whatever `candidate` holds; false when this secret is empty.
    [[nodiscard]] bool matches(std::string_view candidate) const noexcept;

private:
    std::string value_;
};

}  // namespace sandbox
