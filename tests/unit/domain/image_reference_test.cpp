#include <gtest/gtest.h>

#include <sandbox/domain/validation.hpp>

namespace sandbox::domain {
namespace {

const std::string kHex(64, 'a');

TEST(ImageReference, takes_what_registries_and_engines_take) {
    for (const std::string& text :
         {std::string("busybox"), std::string("python:3.13-alpine"), std::string("paulgauthier/aider:latest"),
          std::string("ghcr.io/block/goose:latest"), std::string("localhost/app"), std::string("localhost:5000/app:1"),
          std::string("[::1]:5000/app"), std::string("registry.example.com:443/a/b-c/d__e/f.g:V1.0_x"),
          std::string("Registry/app"), std::string("a--b/c"), "app@sha256:" + kHex, "app:1@sha256:" + kHex,
          "sha256:" + kHex, std::string(255, 'a'), "app:" + std::string(128, 't')})
        EXPECT_TRUE(is_image_reference(text)) << text;
}

TEST(ImageReference, refuses_white_space_capitals_in_the_path_and_broken_parts) {
    for (const std::string& text : {std::string(""),
                                    std::string(" "),
                                    std::string("a b"),
                                    std::string("app "),
                                    std::string("app\n"),
                                    std::string("app\t:1"),
                                    std::string("App"),
                                    std::string("ghcr.io/Block/goose"),
                                    std::string("app:"),
                                    std::string("app:-x"),
                                    std::string("app:a b"),
                                    std::string("/app"),
                                    std::string("app/"),
                                    std::string("a//b"),
                                    std::string("a..b"),
                                    std::string("a___b"),
                                    std::string("-a"),
                                    std::string("a-"),
                                    std::string("http://example.com/app"),
                                    std::string("host:port/app"),
                                    std::string("-host.io/app"),
                                    std::string("[]/app"),
                                    std::string("[::1/app"),
                                    std::string("app@"),
                                    std::string("app@sha256:abc"),
                                    "app@:" + kHex,
                                    "@sha256:" + kHex,
                                    std::string("a\0b", 3),
                                    std::string("caf\xC3\xA9"),
                                    std::string(256, 'a'),
                                    "app:" + std::string(129, 't')})
        EXPECT_FALSE(is_image_reference(text)) << text;
}

}  // namespace
}  // namespace sandbox::domain
