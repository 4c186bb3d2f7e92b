#include "support/nats_server.hpp"

#include <csignal>
#include <fstream>
#include <nats/nats.h>
#include <stdexcept>

namespace sandbox::test {
namespace {

using namespace std::chrono_literals;

void check(natsStatus status, const char* what) {
    if (status == NATS_OK) return;
    const char* more = nats_GetLastError(nullptr);
    throw std::runtime_error(std::string(what) + ": " + natsStatus_GetText(status) + ": " + (more ? more : ""));
}

struct Connection {
    explicit Connection(const std::string& url) {
        check(natsConnection_ConnectTo(&connection, url.c_str()), "connect");
    }
    ~Connection() { natsConnection_Destroy(connection); }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    natsConnection* connection = nullptr;
};

std::string ask(const std::string& url, const std::string& subject, const std::string& body) {
    const Connection to(url);
    natsMsg* answer = nullptr;
    check(natsConnection_RequestString(&answer, to.connection, subject.c_str(), body.c_str(), 10'000), subject.c_str());
    std::string text(natsMsg_GetData(answer), static_cast<std::size_t>(natsMsg_GetDataLength(answer)));
    natsMsg_Destroy(answer);
    if (text.find("\"error\"") != std::string::npos) throw std::runtime_error(subject + ": " + text);
    return text;
}

NatsReceived read(natsMsg* message) {
    const char* id = nullptr;
    natsMsgHeader_Get(message, "Nats-Msg-Id", &id);
    return {natsMsg_GetSubject(message),
            id ? id : "",
            {natsMsg_GetData(message), static_cast<std::size_t>(natsMsg_GetDataLength(message))}};
}

}  // namespace

NatsServer::NatsServer(Options options) : options_(std::move(options)) {
    for (int attempt = 0; attempt < 5; ++attempt) {
        port_ = lasting_port();
        if (try_to_start()) return;
    }
    throw std::runtime_error("nats-server did not start: " + process_->err());
}

bool NatsServer::try_to_start() {
    std::ofstream file(directory_.path() + "/nats.conf", std::ios::trunc);
    file << "listen: " << address() << '\n' << options_.configuration << '\n';
    if (options_.jetstream) file << "jetstream { store_dir: \"" << directory_.path() << "/store\" }\n";
    file.close();
    Start start;
    start.argv = {"/usr/sbin/nats-server", "-c", directory_.path() + "/nats.conf"};
    process_ = std::make_unique<Process>(start);
    eventually(20s,
               [&] { return !process_->running() || process_->err().find("Server is ready") != std::string::npos; });
    return process_->running();
}

void NatsServer::start() {
    if (!try_to_start()) throw std::runtime_error("nats-server did not start again: " + process_->err());
}

void NatsServer::stop() {
    process_->signal(SIGTERM);
    process_->wait(20s);
}

void NatsServer::kill() {
    process_->signal(SIGKILL);
    process_->wait(20s);
}

void NatsServer::freeze() {
    process_->signal(SIGSTOP);
}

void NatsServer::thaw() {
    process_->signal(SIGCONT);
}

struct NatsConsumer::Impl {
    explicit Impl(const std::string& url) : to(url) {}
    ~Impl() { natsSubscription_Destroy(subscription); }
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    Connection to;
    natsSubscription* subscription = nullptr;
};

NatsConsumer::NatsConsumer(const std::string& url, const std::string& subject) : impl_(std::make_unique<Impl>(url)) {
    check(natsConnection_SubscribeSync(&impl_->subscription, impl_->to.connection, subject.c_str()), "subscribe");
    check(natsConnection_FlushTimeout(impl_->to.connection, 10'000), "subscribe");
}

NatsConsumer::~NatsConsumer() = default;

std::vector<NatsReceived> NatsConsumer::receive(std::size_t count, std::chrono::milliseconds limit) {
    constexpr std::int64_t kMoment = 100;
    std::vector<NatsReceived> received;
    const auto until = std::chrono::steady_clock::now() + limit;
    while (true) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
        natsMsg* message = nullptr;
        const auto patience = received.size() < count ? std::max<std::int64_t>(left, 1) : kMoment;
        if (natsSubscription_NextMsg(&message, impl_->subscription, patience) != NATS_OK) return received;
        received.push_back(read(message));
        natsMsg_Destroy(message);
    }
}

void create_nats_stream(const std::string& url, const std::string& name, const std::string& subjects,
                        const std::string& more) {
    ask(url, "$JS.API.STREAM.CREATE." + name,
        R"({"name":")" + name + R"(","storage":"file","retention":"limits","subjects":)" + subjects + more + "}");
}

std::vector<NatsReceived> nats_stream_messages(const std::string& url, const std::string& name) {
    const Connection to(url);
    jsCtx* context = nullptr;
    check(natsConnection_JetStream(&context, to.connection, nullptr), "JetStream");
    const std::unique_ptr<jsCtx, decltype(&jsCtx_Destroy)> owned(context, jsCtx_Destroy);
    jsStreamInfo* info = nullptr;
    check(js_GetStreamInfo(&info, context, name.c_str(), nullptr, nullptr), "stream");
    const auto first = info->State.FirstSeq;
    const auto last = info->State.LastSeq;
    jsStreamInfo_Destroy(info);
    std::vector<NatsReceived> messages;
    for (auto sequence = first; sequence <= last && last > 0; ++sequence) {
        natsMsg* message = nullptr;
        check(js_GetMsg(&message, context, name.c_str(), sequence, nullptr, nullptr), "message");
        messages.push_back(read(message));
        natsMsg_Destroy(message);
    }
    return messages;
}

}  // namespace sandbox::test
