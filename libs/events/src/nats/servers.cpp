#include "servers.hpp"

namespace sandbox::events {

std::vector<std::string> server_urls(std::string_view list) {
    std::vector<std::string> urls;
    while (!list.empty()) {
        const auto comma = list.find(',');
        auto url = list.substr(0, comma);
        list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
        while (url.starts_with(' ')) url.remove_prefix(1);
        while (url.ends_with(' ')) url.remove_suffix(1);
        if (!url.empty()) urls.emplace_back(url);
    }
    return urls;
}

std::string server_hosts(const std::vector<std::string>& urls) {
    std::string hosts;
    for (std::string_view url : urls) {
        if (const auto scheme = url.find("://"); scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
        if (const auto user = url.rfind('@'); user != std::string_view::npos) url.remove_prefix(user + 1);
        if (!hosts.empty()) hosts += ", ";
        hosts += url.substr(0, url.find('/'));
    }
    return hosts;
}

}  // namespace sandbox::events
