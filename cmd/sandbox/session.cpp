#include "session.hpp"

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <sandbox/base/id.hpp>

namespace sandbox::cli {

std::unexpected<client::Failure> failure(std::string code, std::string message) {
    return std::unexpected(client::Failure{.error = Error(Code::invalid_argument, std::move(message)),
                                           .code = std::move(code),
                                           .request_id = "",
                                           .status = 0});
}

std::unexpected<client::Failure> usage(std::string message) {
    return failure(std::string(kUsageCode), std::move(message));
}

Session::Session(asio::any_io_executor executor, Globals globals, Environment environment, Output& output)
    : executor_(std::move(executor)),
      globals_(std::move(globals)),
      environment_(std::move(environment)),
      output_(output) {}

std::string Session::new_idempotency_key() {
    return Uuid::make_v7(now(), random_).text();
}

Secret Session::token() const {
    return Secret(globals_.token.value_or(environment_("SANDBOX_TOKEN").value_or("")));
}

client::Answer<client::Client*> Session::client() {
    if (!client_) {
        auto server = choose_server(globals_.server, environment_);
        if (!server) {
            const bool typed = globals_.server.has_value();
            return failure(typed ? std::string(kUsageCode) : "settings", server.error().message());
        }
        auto ca_file = globals_.ca_file ? globals_.ca_file : environment_("SANDBOX_CA_FILE");
        client_.emplace(
            executor_,
            client::Settings{.server = std::move(server->url), .token = token(), .ca_file = std::move(ca_file)});
    }
    return &*client_;
}

void Session::unshield() {
    shielded_ = false;
    stop_if_interrupted();
}

void Session::stop_if_interrupted() const {
    if (interrupted_) throw boost::system::system_error(asio::error::operation_aborted);
}

void Session::ended(domain::OperationId operation) {
    std::erase_if(pending_, [&](const Pending& pending) { return pending.operation == operation; });
}

bool Session::interrupt() noexcept {
    interrupted_ = true;
    return !shielded_;
}

}  // namespace sandbox::cli
