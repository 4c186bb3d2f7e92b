#include "report.hpp"

#include <fmt/format.h>

namespace sandbox::bench {

namespace {

void print_row(const std::string& what, std::size_t count, double seconds, const Latencies& latencies) {
    const auto rate = seconds > 0 ? fmt::format("{:.0f}", static_cast<double>(count) / seconds) : std::string();
    if (latencies.count() == 0)
        fmt::print("{:<38} {:>8} {:>8}\n", what, count, rate);
    else
        fmt::print("{:<38} {:>8} {:>8} {:>9.1f} {:>9.1f} {:>9.1f}\n", what, count, rate, latencies.quantile(0.5),
                   latencies.quantile(0.95), latencies.quantile(0.99));
}

std::string deletes_in_words(Deletes deletes) {
    switch (deletes) {
        case Deletes::after:
            return "not among the creates, deleted afterwards";
        case Deletes::during:
            return "each sandbox is deleted once it runs: deletes are included";
        case Deletes::none:
            break;
    }
    return "nothing is deleted";
}

}  // namespace

void print(const Settings& settings, const Report& report) {
    fmt::print("store {}, {} controllers, {} workers, {} full nodes, {} clients, rate {}, heartbeats every {} s; {}\n",
               settings.postgres ? "postgres" : "memory", settings.controllers, settings.workers, settings.idle_nodes,
               settings.clients, settings.rate > 0 ? fmt::format("{}/s", settings.rate) : std::string("unbounded"),
               settings.heartbeat_seconds, deletes_in_words(settings.deletes));
    fmt::print("{:<38} {:>8} {:>8} {:>9} {:>9} {:>9}\n", "", "count", "per s", "p50 ms", "p95 ms", "p99 ms");
    print_row("create, answered", report.creates.done, report.create_seconds, report.creates.answer);
    print_row("create, reported running", report.creates.running.count(), 0, report.creates.running);
    print_row("assignment, same controller", report.assigned_here.count(), 0, report.assigned_here);
    print_row("assignment, by another controller", report.assigned_elsewhere.count(), 0, report.assigned_elsewhere);
    print_row("exec, round trip", report.execs.count(), report.exec_seconds, report.execs);
    print_row("delete", report.deletes, report.delete_seconds, {});
    fmt::print("{:<38} {:>8} {:>8} {:>9} {:>9}\n", "while creating", "CPU s", "cores", "RSS MiB", "peak");
    for (const auto& process : report.processes) {
        const auto cores = process.cpu_seconds / report.create_seconds;
        if (process.resident_mib > 0)
            fmt::print("{:<38} {:>8.2f} {:>8.2f} {:>9.0f} {:>9.0f}\n", process.name, process.cpu_seconds, cores,
                       process.resident_mib, process.peak_mib);
        else
            fmt::print("{:<38} {:>8.2f} {:>8.2f}\n", process.name, process.cpu_seconds, cores);
    }
    if (report.deadlocks) fmt::print("PostgreSQL deadlocks: {}\n", *report.deadlocks);
    if (report.errors.empty()) fmt::print("no errors\n");
    for (const auto& [what, count] : report.errors) fmt::print("{:>6} × {}\n", count, what);
}

}  // namespace sandbox::bench
