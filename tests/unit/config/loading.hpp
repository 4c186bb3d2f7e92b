#pragma once

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <support/process.hpp>

#include <sandbox/config/config.hpp>

namespace sandbox::config {

inline const std::string kApiToken(32, 'a');
inline const std::string kNodeToken(32, 'n');

/// A daemon that starts: both tokens, a state directory, and nothing in the working directory. Tests change one thing.
struct Start {
    test::TemporaryDirectory directory;
    Sources sources;

    Start() {
        sources.working_directory = directory.path();
        sources.environment = {{"SANDBOX__SERVER__API_TOKEN", kApiToken},
                               {"SANDBOX__SERVER__NODE_TOKEN", kNodeToken},
                               {"SANDBOX__NODE__STATE_DIR", path("state")}};
    }

    /// In the working directory.
    [[nodiscard]] std::string path(const std::string& name) const { return directory.path() + "/" + name; }
    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(path(name)) << text;
        return path(name);
    }

    Start& with(const std::string& variable, const std::string& value) {
        sources.environment[variable] = value;
        return *this;
    }
    Start& without(const std::string& variable) {
        sources.environment.erase(variable);
        return *this;
    }
    Start& file(const std::string& text) {
        write("sandbox.toml", text);
        return *this;
    }
    Start& role(Role role) {
        sources.role = role;
        return *this;
    }
    Start& dev() {
        sources.dev = true;
        return *this;
    }

    [[nodiscard]] Result<Config> load() const { return config::load(sources); }
    /// The configuration; a test that expected a start and got a refusal ends with its message.
    [[nodiscard]] Config config() const {
        auto loaded = load();
        if (!loaded) throw std::runtime_error(loaded.error().message());
        return *loaded;
    }
    /// Why it does not start; "" when it does.
    [[nodiscard]] std::string refusal() const {
        auto loaded = load();
        return loaded ? std::string() : loaded.error().message();
    }
};

}  // namespace sandbox::config
