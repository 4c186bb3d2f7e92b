#pragma once

#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include <sandbox/http/stream.hpp>

#include "place.hpp"

namespace sandbox::driver_runc {

/// The guest's standard streams, through the named pipes. Errors: not_found when its PID 1 has ended.
[[nodiscard]] Result<std::unique_ptr<http::Stream>> open_guest(const asio::any_io_executor& executor,
                                                               const Place& place);

}  // namespace sandbox::driver_runc
