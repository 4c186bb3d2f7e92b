#pragma once

#include <memory>
#include <string>

#include <sandbox/async/task.hpp>
#include <sandbox/domain/assignment.hpp>

namespace sandbox::sandboxd {

/// One assignment in this worker's hand, from its lease until its report is settled.
struct Job {
    enum class Stage { waiting, running, reporting };

    domain::Assignment assignment;
    Stage stage = Stage::waiting;
    std::string phase = "queued";
    /// Asked to end early, by a cancel or by the sandbox's removal.
    bool cancelled = false;

    [[nodiscard]] domain::OperationKind kind() const noexcept { return domain::kind_of(assignment.kind); }
};
using JobPtr = std::shared_ptr<Job>;

/// Takes results to the controller.
class Reporter {
public:
    virtual ~Reporter() = default;
    /// Returns when the controller has taken the report or wants none. The attempt is read anew for each try: the job
    /// may be leased again meanwhile.
    virtual Task<void> report(JobPtr job, domain::Completion completion) = 0;
};

}  // namespace sandbox::sandboxd
