#pragma once

#include <string>

#include "fleet.hpp"

namespace sandbox::test {

/// A file of the project.
[[nodiscard]] std::string source(const std::string& path);

/// A controller that asks for no API token. Risk decides as it does by default.
class Controller {
public:
    /// Takes a silent worker for lost after that long.
    explicit Controller(int node_lost_seconds = 300);
    [[nodiscard]] Api api() const { return Api(daemon_.address()); }
    [[nodiscard]] std::string url() const { return daemon_.url(); }

private:
    Daemon daemon_;
};

/// What a worker of this name needs to run with this driver.
[[nodiscard]] Variables with_driver(const std::string& node_name, const std::string& path);

}  // namespace sandbox::test
