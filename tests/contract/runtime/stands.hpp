#pragma once

#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>

#include <sandbox/runtime/runtime.hpp>

#include "kit.hpp"
#include "support/process.hpp"

namespace sandbox::test {

/// One runtime to be held to the contract, with everything that it needs on this machine.
struct Stand {
    TemporaryDirectory state;
    asio::io_context io{1};
    std::unique_ptr<runtime::Runtime> runtime;
    std::unique_ptr<driver_check::Kit> kit;

    Stand() = default;
    Stand(const Stand&) = delete;
    Stand& operator=(const Stand&) = delete;
    /// Looks whether anything is left of its sandboxes, where it can tell.
    ~Stand();
};

/// "docker", "test_driver" or "runc"; throws what is missing for it.
[[nodiscard]] std::unique_ptr<Stand> make_stand(const std::string& name);

}  // namespace sandbox::test
