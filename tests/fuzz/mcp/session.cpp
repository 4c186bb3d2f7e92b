#include <cstdint>
#include <lines.hpp>
#include <session.hpp>
#include <string_view>

#include <boost/asio/io_context.hpp>

#include <sandbox/base/log.hpp>

namespace {

using namespace sandbox;

/// Small, so that lines that are too long are met.
constexpr std::size_t kLineLimit = 4096;

/// What goes out is one line, JSON-RPC, and names no id that could not have been read.
void check(const std::string& line) {
    if (line.find('\n') != std::string::npos) __builtin_trap();
    const auto message = nlohmann::json::parse(line, nullptr, false);
    if (!message.is_object() || message.value("jsonrpc", nlohmann::json()) != "2.0") __builtin_trap();
    if (message.contains("id") && !message["id"].is_string() && !message["id"].is_number_integer()) __builtin_trap();
    if (message.contains("result") + message.contains("error") + message.contains("method") != 1) __builtin_trap();
    if (message.contains("result") && !message.contains("id")) __builtin_trap();
}

/// A token that no header can carry: every call fails before anything is connected to.
mcp::Options options() {
    mcp::Options all;
    all.token = Secret("not a token");
    return all;
}

/// Every call that fails is logged, and here they all do.
const bool quiet = [] {
    log::configure(log::Level::critical, log::Format::text);
    return true;
}();

}  // namespace

// Whatever a client sends, the session answers with whole messages, ends every call, and can still be talked to.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    asio::io_context io{1};
    mcp::Bridge bridge(io.get_executor(), options());
    bool answered = false;
    mcp::Session session(io.get_executor(), bridge, [&](const std::string& line) {
        check(line);
        answered = true;
    });
    mcp::Lines lines(kLineLimit);
    const auto on_line = [&](std::string_view line) { session.handle(line); };
    const auto on_long = [&] { session.refuse_long_line(); };
    std::string_view bytes(reinterpret_cast<const char*>(data), size);
    while (!bytes.empty()) {
        const auto piece = bytes.substr(0, 512);
        lines.feed(piece, on_line, on_long);
        bytes.remove_prefix(piece.size());
        io.restart();
        io.poll();
    }
    lines.end(on_line, on_long);
    io.restart();
    io.poll();
    if (session.calls() != 0) __builtin_trap();

    answered = false;
    session.handle(R"({"jsonrpc":"2.0","id":"last","method":"ping"})");
    if (!answered) __builtin_trap();
    io.stop();
    return 0;
}
