#include "image.hpp"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sandbox/base/json_reader.hpp>
#include <sandbox/domain/validation.hpp>

namespace sandbox::driver_runc {

namespace {

std::optional<std::uint32_t> number(std::string_view text) {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.begin(), text.end(), value);
    if (error != std::errc{} || end != text.end()) return std::nullopt;
    return value;
}

/// The numbers of a line "name:x:number:number:…" of the image's own passwd or group file.
std::optional<std::vector<std::uint32_t>> look_up(const std::string& path, std::string_view name) {
    // Never through a link of the image's: that would be read on the host.
    std::error_code error;
    if (std::filesystem::symlink_status(path, error).type() != std::filesystem::file_type::regular) return std::nullopt;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        std::istringstream fields(line);
        std::vector<std::string> parts;
        for (std::string part; std::getline(fields, part, ':');) parts.push_back(part);
        if (parts.size() < 3 || parts[0] != name) continue;
        std::vector<std::uint32_t> numbers;
        for (std::size_t i = 2; i < parts.size() && i < 4; ++i) numbers.push_back(number(parts[i]).value_or(0));
        return numbers;
    }
    return std::nullopt;
}

/// "1000", "1000:100", "name", "name:group".
Result<void> read_user(Image& image, const std::string& user) {
    if (user.empty()) return {};
    const auto colon = user.find(':');
    const auto name = user.substr(0, colon);
    const auto group = colon == std::string::npos ? "" : user.substr(colon + 1);
    const auto found = look_up(image.rootfs + "/etc/passwd", name);
    if (const auto uid = number(name))
        image.uid = *uid;
    else if (found)
        image.uid = found->front();
    else
        return fail(Code::unavailable, fmt::format("the image has no user {}", name));
    if (found && found->size() > 1) image.gid = (*found)[1];
    if (group.empty()) return {};
    const auto found_group = look_up(image.rootfs + "/etc/group", group);
    if (const auto gid = number(group))
        image.gid = *gid;
    else if (found_group)
        image.gid = found_group->front();
    else
        return fail(Code::unavailable, fmt::format("the image has no group {}", group));
    return {};
}

Result<void> read_config(Image& image, const std::string& path) {
    std::ifstream file(path);
    if (!file) return {};
    const std::string text(std::istreambuf_iterator<char>(file), {});
    auto document = parse_json(text);
    if (!document) return fail(std::move(document.error()).in(path));
    Problems problems;
    ObjectReader reader(*document, "", problems, UnknownFields::ignore);
    for (const auto& entry : reader.strings("Env"))
        if (const auto equals = entry.find('='); equals != std::string::npos)
            image.env[entry.substr(0, equals)] = entry.substr(equals + 1);
    const auto user = reader.optional_string("User").value_or("");
    if (!problems.empty()) return fail(problems.to_error().in(path));
    return read_user(image, user);
}

}  // namespace

std::string directory_name(const std::string& image) {
    if (!domain::is_image_reference(image)) return "";
    std::string name;
    for (const char c : image) {
        if (c == '/')
            name += "%2F";
        else if (c == '%')
            name += "%25";
        else
            name += c;
    }
    return name;
}

Result<Image> find_image(const std::string& images_dir, const std::string& name) {
    const auto directory = directory_name(name);
    if (directory.empty()) return fail(Code::invalid_argument, fmt::format("{} is no image's name", name));
    Image image;
    image.rootfs = fmt::format("{}/{}/rootfs", images_dir, directory);
    std::error_code error;
    if (!std::filesystem::is_directory(image.rootfs, error))
        return fail(Code::not_found,
                    fmt::format("image {} is not on this host: unpack it into {} with unpack-image", name, images_dir));
    if (auto read = read_config(image, fmt::format("{}/{}/config.json", images_dir, directory)); !read)
        return fail(std::move(read.error()).in("image " + name));
    return image;
}

}  // namespace sandbox::driver_runc
