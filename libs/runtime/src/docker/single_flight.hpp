#pragma once

#include <sandbox/async/signal.hpp>

namespace sandbox::runtime::docker {

/// Holds `busy` while it lives and wakes who waits for its end: for what is made once and wanted by many.
class SingleFlight {
public:
    SingleFlight(bool& busy, async::Signal& idle) : busy_(busy), idle_(idle) { busy_ = true; }
    ~SingleFlight() {
        busy_ = false;
        idle_.notify_all();
    }
    SingleFlight(const SingleFlight&) = delete;
    SingleFlight& operator=(const SingleFlight&) = delete;

private:
    bool& busy_;
    async::Signal& idle_;
};

}  // namespace sandbox::runtime::docker
