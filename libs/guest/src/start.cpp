#include <algorithm>

#include <sandbox/guest/start.hpp>

#include "wire.hpp"

namespace sandbox::guest {

namespace {

void put_text(std::string& out, std::string_view text) {
    put(out, static_cast<std::uint32_t>(text.size()));
    out.append(text);
}

void put_list(std::string& out, const std::vector<std::string>& list) {
    put(out, static_cast<std::uint32_t>(list.size()));
    for (const auto& text : list) put_text(out, text);
}

std::size_t wire_size(const Start& start) {
    std::size_t size = 64 + start.cwd.size();
    for (const auto* list : {&start.argv, &start.env})
        for (const auto& text : *list) size += 4 + text.size();
    return size;
}

bool take_text(Cursor& in, std::string& text) {
    text = in.text();
    return in.ok() && !text.contains('\0');
}

bool take_list(Cursor& in, std::vector<std::string>& list) {
    const auto count = in.number<std::uint32_t>();
    if (!in.ok() || count > in.left() / 4) return false;  // each string has four bytes at least
    list.resize(count);
    return std::ranges::all_of(list, [&](std::string& text) { return take_text(in, text); });
}

bool names_a_variable(const std::string& entry) {
    return entry.find('=') != std::string::npos && entry.front() != '=';
}

}  // namespace

std::string encode_start(const Start& start) {
    std::string bytes;
    bytes.reserve(wire_size(start));
    put(bytes, start.time_limit_ms);
    put(bytes, start.output_credit);
    put(bytes, start.error_credit);
    put(bytes, start.keep);
    put(bytes, static_cast<std::uint8_t>(start.input ? 1 : 0));
    put_text(bytes, start.cwd);
    put_list(bytes, start.argv);
    put_list(bytes, start.env);
    return bytes;
}

bool append_start(std::string& out, std::uint64_t id, const Start& start) {
    if (wire_size(start) > kMaxStart) return false;
    const auto bytes = encode_start(start);
    std::string_view rest = bytes;
    for (; rest.size() > kMaxPayload; rest.remove_prefix(kMaxPayload))
        append_frame(out, FrameType::start_part, id, rest.substr(0, kMaxPayload));
    append_frame(out, id == 0 ? FrameType::start_command : FrameType::start, id, rest);
    return true;
}

std::optional<Start> decode_start(std::string_view bytes) {
    Cursor in(bytes);
    Start start;
    start.time_limit_ms = in.number<std::uint64_t>();
    start.output_credit = in.number<std::uint32_t>();
    start.error_credit = in.number<std::uint32_t>();
    start.keep = in.number<std::uint32_t>();
    start.input = in.flag();
    const bool whole = take_text(in, start.cwd) && take_list(in, start.argv) && take_list(in, start.env) && in.done();
    if (!whole || start.argv.empty() || !std::ranges::all_of(start.env, names_a_variable)) return std::nullopt;
    return start;
}

void StartAssembly::add(std::uint64_t id, std::string_view piece) {
    if (id != id_) clear();
    id_ = id;
    if (bytes_.size() + piece.size() > kMaxStart) {
        too_long_ = true;
        std::string().swap(bytes_);
    }
    if (!too_long_) bytes_.append(piece);
}

std::expected<Start, StartError> StartAssembly::finish(std::uint64_t id, std::string_view last_piece) {
    add(id, last_piece);
    const bool too_long = too_long_;
    const auto start = too_long ? std::nullopt : decode_start(bytes_);
    clear();
    if (too_long) return std::unexpected(StartError::too_long);
    if (!start) return std::unexpected(StartError::malformed);
    return *start;
}

void StartAssembly::clear() {
    id_ = 0;
    too_long_ = false;
    std::string().swap(bytes_);
}

}  // namespace sandbox::guest
