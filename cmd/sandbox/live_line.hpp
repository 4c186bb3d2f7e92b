#pragma once

#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>

namespace sandbox::cli {

/// One line on standard error that says what is being waited for and for how long; gone when the object is. Shown only
/// when the wait is longer than a moment. Lives on the io thread.
class LiveLine {
public:
    LiveLine(boost::asio::any_io_executor executor, bool shown, std::string text);
    ~LiveLine();
    LiveLine(const LiveLine&) = delete;
    LiveLine& operator=(const LiveLine&) = delete;

    void say(std::string text);

private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace sandbox::cli
