#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "journal.hpp"
#include "process_use.hpp"
#include "settings.hpp"

namespace sandbox::bench {

/// What one run has measured.
struct Report {
    Journal::Creates creates;
    double create_seconds = 0;
    Latencies execs;
    double exec_seconds = 0;
    std::size_t deletes = 0;
    double delete_seconds = 0;
    Latencies assigned_here;
    Latencies assigned_elsewhere;
    /// Processor time while the creates ran.
    struct Process {
        std::string name;
        double cpu_seconds = 0;
        double resident_mib = 0;  // 0: not told
        double peak_mib = 0;
    };
    std::vector<Process> processes;
    std::map<std::string, std::size_t> errors;
    std::optional<std::int64_t> deadlocks;  // in PostgreSQL; each holds somebody up for a second
};

void print(const Settings& settings, const Report& report);

}  // namespace sandbox::bench
