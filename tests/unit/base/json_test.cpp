#include <ctime>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sandbox/base/json_reader.hpp>

namespace sandbox {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string refusal(std::string_view text) {
    auto value = parse_json(text);
    if (value) return "accepted";
    EXPECT_EQ(value.error().code(), Code::invalid_argument);
    EXPECT_LT(value.error().message().size(), 1500U);
    return value.error().message();
}

std::string nested(std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
}

TEST(ParseJson, reads_a_document) {
    auto value = parse_json(R"( {"a": [1, -2, 3.5, true, null, "grüße \u65e5"], "b": {"c": 18446744073709551615}} )");

    ASSERT_TRUE(value);
    EXPECT_EQ((*value)["a"], nlohmann::json::array({1, -2, 3.5, true, nullptr, "grüße 日"}));
    EXPECT_EQ((*value)["b"]["c"], 18446744073709551615U);
}

TEST(ParseJson, says_where_a_document_breaks) {
    EXPECT_EQ(refusal("{\"a\": 1,\n \"b\": nil}"),
              "not valid JSON at line 2, column 8: while parsing value - invalid literal");
    EXPECT_THAT(refusal(""), HasSubstr("unexpected end of input"));
    EXPECT_THAT(refusal("{} x"), HasSubstr("not valid JSON at line 1, column 4"));
    EXPECT_THAT(refusal("[1,]"), HasSubstr("not valid JSON"));
    EXPECT_THAT(refusal("NaN"), HasSubstr("not valid JSON"));
    EXPECT_THAT(refusal("[1e999]"), HasSubstr("not valid JSON"));
}

// The broken piece may be a token on its way into a sandbox.
TEST(ParseJson, never_repeats_what_it_read) {
    EXPECT_THAT(refusal(R"({"env": {"TOKEN": "hunter2'; expected hunter2)"), testing::Not(HasSubstr("hunter2")));
}

TEST(ParseJson, refuses_a_key_given_twice) {
    EXPECT_EQ(refusal(R"({"spec": {"exposures": [{"a": 1}, {"port": 1, "port": 2}]}})"),
              "spec.exposures[1].port: is given twice");
    EXPECT_EQ(refusal(R"({"labels": {"a/b": "1", "a\u002fb": "2"}})"), R"(labels["a/b"]: is given twice)");
}

TEST(ParseJson, refuses_nul_in_strings_and_names) {
    EXPECT_EQ(refusal(R"({"command": {"argv": ["sh", "a\u0000b"]}})"), "command.argv[1]: must not contain NUL");
    EXPECT_EQ(refusal(R"({"env": {"A": "\u0000"}})"), "env.A: must not contain NUL");
    EXPECT_EQ(refusal(R"({"env": {"A\u0000": ""}})"), "env: a field's name must not contain NUL");
    EXPECT_EQ(refusal(R"("\u0000")"), "the document must not contain NUL");
}

// A command's output is bytes; a field of that name elsewhere is not.
TEST(ParseJson, lets_nul_pass_where_it_is_told_to) {
    constexpr std::string_view kOutput[] = {"output.stdout"};

    EXPECT_TRUE(parse_json(R"({"output": {"stdout": "a\u0000b"}})", kOutput));
    EXPECT_TRUE(parse_json(R"({"operations": [{"output": {"stdout": "\u0000"}}]})", kOutput));
    EXPECT_FALSE(parse_json(R"({"stdout": "\u0000"})", kOutput));
    EXPECT_FALSE(parse_json(R"({"my_output": {"stdout": "\u0000"}})", kOutput));
    EXPECT_FALSE(parse_json(R"({"env": {"output.stdout": "\u0000"}})", kOutput));

    constexpr std::string_view kBelow[] = {"params.arguments.*"};
    for (const auto* below : {R"({"params": {"arguments": {"a": "\u0000", "b": ["\u0000", {"c": "\u0000"}]}}})",
                              R"({"params": {"arguments": {"\u0000": {"\u0000": "\u0000"}}}})",
                              R"({"params": {"arguments": {"a b": "\u0000"}}})"})
        EXPECT_TRUE(parse_json(below, kBelow)) << below;
    for (const auto* beside :
         {R"({"params": {"arguments": "\u0000"}})", R"({"params": {"arguments2": {"a": "\u0000"}}})",
          R"({"params": {"\u0000": 1}})", R"({"x": {"params": {"arguments": {"a": "\u0000"}}}})",
          R"({"params.arguments": {"a": "\u0000"}})", R"({"params": {"a": {"b": "\u0000"}}})"})
        EXPECT_FALSE(parse_json(beside, kBelow)) << beside;
}

TEST(ParseJson, refuses_bytes_that_are_not_utf8) {
    for (auto bytes : {"\"\xff\"", "\"\xc0\xaf\"", "\"\xed\xa0\x80\"", R"("\ud800")", R"("\udc00\ud800")"})
        EXPECT_THAT(refusal(bytes), HasSubstr("not valid JSON")) << bytes;
}

// A hundred thousand levels must cost neither the stack nor the time.
TEST(ParseJson, refuses_deep_documents) {
    EXPECT_EQ(refusal(nested(64)), "accepted");
    EXPECT_EQ(refusal(nested(65)), "the document is nested more than 64 levels deep");
    EXPECT_EQ(refusal(nested(100'000)), "the document is nested more than 64 levels deep");
    std::string objects;
    for (int i = 0; i < 100'000; ++i) objects += R"({"a":)";
    EXPECT_EQ(refusal(objects), "the document is nested more than 64 levels deep");
}

/// Documents of about so many bytes, each with many of one thing.
std::vector<std::string> documents(std::size_t size) {
    std::string strings = "[";
    std::string numbers = "[0";
    std::string object = "{\"x\":0";
    while (strings.size() < size) strings += "\"some words\\n\",";
    while (numbers.size() < size) numbers += ",1";
    for (int i = 0; object.size() < size; ++i) object += ",\"k" + std::to_string(i) + "\":1";
    return {strings + "0]", numbers + "]", object + "}"};
}

/// This process's own time, which other programs on the machine do not stretch.
std::clock_t time_to_parse(const std::string& document) {
    auto start = std::clock();
    EXPECT_TRUE(parse_json(document));
    return std::clock() - start;
}

// Ten times the size is about ten times the work, not a hundred times.
TEST(ParseJson, takes_time_in_proportion_to_size) {
    auto small = documents(60'000);
    auto large = documents(600'000);
    for (std::size_t i = 0; i < small.size(); ++i)
        EXPECT_LT(time_to_parse(large[i]), 40 * time_to_parse(small[i]) + CLOCKS_PER_SEC / 10);
}

TEST(DumpJson, replaces_bytes_that_are_not_utf8) {
    EXPECT_EQ(dump_json({{"out", "a\xff"}}), "{\"out\":\"a\uFFFD\"}");
    EXPECT_EQ(dump_json_pretty({{"out", "a"}}), "{\n  \"out\": \"a\"\n}");
}

/// One reading of a JSON text, with the problems it found.
struct Reading {
    explicit Reading(std::string_view text, UnknownFields unknown = UnknownFields::refuse)
        : value(parse_json(text).value()), reader(value, "spec", problems, unknown) {}
    nlohmann::json value;
    Problems problems;
    ObjectReader reader;
};

TEST(ObjectReader, reads_fields_of_every_kind) {
    Reading r(R"({"s": "x", "i": 5, "b": true, "n": 0.5, "l": ["a", "b"], "m": {"k": "v"}, "e": "two", "z": null})");
    constexpr std::pair<std::string_view, int> kTable[] = {{"one", 1}, {"two", 2}};

    EXPECT_EQ(r.reader.string("s"), "x");
    EXPECT_EQ(r.reader.integer("i", 1, 10), 5);
    EXPECT_TRUE(r.reader.boolean("b"));
    EXPECT_EQ(r.reader.optional_number("n", 0, 1), 0.5);
    EXPECT_THAT(r.reader.strings("l"), ElementsAre("a", "b"));
    EXPECT_THAT(r.reader.string_map("m"), ElementsAre(testing::Pair("k", "v")));
    EXPECT_EQ(r.reader.enumeration<int>("e", kTable, std::nullopt), 2);
    EXPECT_EQ(r.reader.optional_string("z"), std::nullopt);
    EXPECT_EQ(r.reader.optional_integer("absent", 1, 2), std::nullopt);
    r.reader.finish();
    EXPECT_THAT(r.problems.items(), IsEmpty());
}

// All of it comes out together, each with its path.
TEST(ObjectReader, gathers_every_problem) {
    Reading r(R"({"cpu_millis": 0, "name": 7, "on": "yes", "argv": ["a", 1], "env": {"A": 1, "b c": null},
                  "net": "wide", "list": {}, "map": []})");
    constexpr std::pair<std::string_view, int> kTable[] = {{"deny", 1}, {"open", 2}};

    EXPECT_EQ(r.reader.integer("cpu_millis", 1, 1'000'000), 1);
    EXPECT_EQ(r.reader.string("name"), "");
    EXPECT_FALSE(r.reader.boolean("on"));
    EXPECT_THAT(r.reader.strings("argv"), ElementsAre("a"));
    EXPECT_THAT(r.reader.string_map("env"), IsEmpty());
    EXPECT_EQ(r.reader.enumeration<int>("net", kTable, 1), 1);
    EXPECT_THAT(r.reader.strings("list"), IsEmpty());
    EXPECT_THAT(r.reader.string_map("map"), IsEmpty());
    EXPECT_EQ(r.reader.string("tenant"), "");
    EXPECT_EQ(r.reader.integer("ttl", 30, 60), 30);
    EXPECT_FALSE(r.reader.boolean("drain"));

    EXPECT_THAT(
        r.problems.items(),
        ElementsAre("spec.cpu_millis: must be an integer from 1 to 1000000", "spec.name: must be a string",
                    "spec.on: must be true or false", "spec.argv[1]: must be a string", "spec.env.A: must be a string",
                    R"(spec.env["b c"]: must be a string)", "spec.net: must be one of deny, open",
                    "spec.list: must be an array", "spec.map: must be an object of strings",
                    "spec.tenant: is required: a string", "spec.ttl: is required: an integer from 30 to 60",
                    "spec.drain: is required: true or false"));
}

// 2^63, 2^64, a fraction and an exponent: none becomes another number on the way.
TEST(ObjectReader, takes_integers_exactly_or_not_at_all) {
    constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
    constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
    for (auto text :
         {"9223372036854775808", "18446744073709551616", "-9223372036854775809", "1.0", "1e3", "\"1\"", "true"}) {
        Reading r("{\"i\": " + std::string(text) + "}");
        EXPECT_EQ(r.reader.optional_integer("i", kMin, kMax), std::nullopt) << text;
        EXPECT_THAT(r.problems.items(), ElementsAre("spec.i: must be an integer"));
    }
    Reading r(R"({"least": -9223372036854775808, "most": 9223372036854775807})");
    EXPECT_EQ(r.reader.integer("least", kMin, kMax), kMin);
    EXPECT_EQ(r.reader.integer("most", 0, kMax), kMax);
    EXPECT_THAT(r.problems.items(), IsEmpty());
}

TEST(ObjectReader, names_the_real_field_nearest_to_an_unknown_one) {
    Reading r(R"({"memry": 1, "volumes": [], "memory_mib": 64})");
    (void)r.reader.optional_integer("memory_mib", 64, 1000);
    (void)r.reader.optional_integer("pids", 1, 10);

    r.reader.finish();

    EXPECT_THAT(r.problems.items(),
                ElementsAre("spec.memry: unknown field; did you mean \"memory_mib\"?", "spec.volumes: unknown field"));
}

TEST(ObjectReader, forgives_peers_their_unknown_fields) {
    Reading r(R"({"new_thing": 1})", UnknownFields::ignore);
    r.reader.finish();
    EXPECT_THAT(r.problems.items(), IsEmpty());
}

// What is no object is one problem, not one for each field it lacks.
TEST(ObjectReader, says_once_that_a_value_is_no_object) {
    Reading r("[1]");
    (void)r.reader.string("tenant");
    (void)r.reader.integer("pids", 1, 2);
    r.reader.finish();
    EXPECT_THAT(r.problems.items(), ElementsAre("spec: must be an object"));
}

// A body with a wrong name in every byte costs a bounded message.
TEST(Problems, report_the_first_twenty_and_count_the_rest) {
    nlohmann::json value;
    for (int i = 0; i < 100'000; ++i) value["field" + std::to_string(i)] = i;
    value[std::string(1'000'000, 'x')] = 1;
    Problems problems;
    ObjectReader reader(value, "", problems, UnknownFields::refuse);

    reader.finish();

    auto error = problems.to_error();
    EXPECT_EQ(error.code(), Code::invalid_argument);
    EXPECT_THAT(error.message(), HasSubstr("; and 99981 more"));
    EXPECT_LT(error.message().size(), 2000U);
}

}  // namespace
}  // namespace sandbox
