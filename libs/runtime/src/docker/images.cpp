#include "docker/images.hpp"

#include <exception>
#include <utility>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include <sandbox/base/text.hpp>
#include <sandbox/domain/agents.hpp>

#include "docker/image_reference.hpp"

namespace sandbox::runtime::docker {

namespace {

using namespace std::chrono_literals;

/// A pull that runs beside the create that wants it, so that the create can be given up while a registry keeps silent.
struct Pull {
    asio::cancellation_signal cancel;
    std::optional<Result<void>> result;
};

/// Ends the pull when nobody waits for it any more, also when the waiting task itself is cancelled.
struct CancelPull {
    explicit CancelPull(std::shared_ptr<Pull> of_pull) : pull(std::move(of_pull)) {}
    CancelPull(const CancelPull&) = delete;
    CancelPull& operator=(const CancelPull&) = delete;
    ~CancelPull() {
        if (!pull->result) pull->cancel.emit(asio::cancellation_type::terminal);
    }
    std::shared_ptr<Pull> pull;
};

Task<Result<void>> pull(Engine& engine, ImageReference image, std::chrono::seconds timeout,
                        std::shared_ptr<Creation> creation) {
    auto credentials = registry_credentials(read_client_config().reveal(), image.registry);
    auto running = std::make_shared<Pull>();
    CancelPull guard(running);
    auto task = [](Engine& of_engine, ImageReference wanted, Secret login, Deadline deadline) -> Task<Result<void>> {
        co_return co_await of_engine.pull_image(wanted.repository, wanted.tag, login, deadline);
    };
    auto started = task(engine, std::move(image), std::move(credentials), in(timeout));
    auto on_end = [running, creation](const std::exception_ptr& thrown, Result<void> result) {
        running->result = thrown ? fail(Code::cancelled, "cancelled") : std::move(result);
        creation->changed.notify_all();
    };
    asio::co_spawn(co_await asio::this_coro::executor, std::move(started),
                   asio::bind_cancellation_slot(running->cancel.slot(), std::move(on_end)));
    while (!running->result && !creation->cancelled) co_await creation->changed.wait(Deadline::max());
    if (creation->cancelled) co_return creation->check();
    co_return *running->result;
}

}  // namespace

std::string how_to_build(std::string_view reference) {
    constexpr std::string_view kAgent = "sandbox-agent-";
    const auto name = reference.substr(0, reference.find(':'));
    if (name.starts_with(kAgent)) {
        const auto* agent = domain::find_agent(name.substr(kAgent.size()));
        if (agent == nullptr || !agent->default_image.value_or("").starts_with(kAgent)) return "";
        return fmt::format("; build it on the worker with ./scripts/build-agent-image.sh {}", agent->name);
    }
    if (name.starts_with("sandbox-base-")) return "; build it on the worker with ./scripts/build-base-image.sh";
    return "";
}

Task<Result<Image>> provide_image(Engine& engine, std::string reference, std::chrono::seconds pull_timeout,
                                  std::shared_ptr<Creation> creation, PhaseSink phase, Deadline deadline) {
    auto found = co_await engine.inspect_image(reference, deadline);
    if (found || found.error().code() != Code::not_found) co_return found;
    auto image = ImageReference::parse(reference);
    if (image.is_local())
        co_return fail(Code::not_found, fmt::format("image {} is not on this host, and images tagged :local are not "
                                                    "pulled{}",
                                                    shortened(reference, 200), how_to_build(reference)));
    if (phase) phase("pulling image");
    auto pulled = co_await pull(engine, image, pull_timeout, creation);
    if (!pulled) {
        if (creation->cancelled) co_return fail(std::move(pulled.error()));
        co_return fail(pull_error(image, reference, pulled.error()));
    }
    co_return co_await engine.inspect_image(reference, in(30s));
}

}  // namespace sandbox::runtime::docker
