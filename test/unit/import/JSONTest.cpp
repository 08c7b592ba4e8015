//===- JSONTest.cpp - text that is not a JSON object ----------------------===//

#include "ConfigSource.h"
#include <catch2/catch.hpp>

using namespace layline;
using namespace layline::test;
using Catch::Contains;
using Catch::StartsWith;

namespace {

std::string errorOfText(const std::string &text) {
  return errorOf(parseHFConfig(text, "config.json"));
}

/// A readable config with more text after its first brace.
std::string llamaWith(const std::string &members) {
  return ConfigSource("llama").text().replace(0, 1, "{" + members + ",");
}

} // namespace

TEST_CASE("syntax errors give line and column") {
  CHECK_THAT(
      errorOfText("{\n  \"a\": 1,\n  \"b\" 2\n}"),
      StartsWith("malformed: config.json:3:7: not JSON: expected : after"));
  CHECK_THAT(errorOfText("{\"a\": tru}"),
             StartsWith("malformed: config.json:1:"));
  CHECK_THAT(errorOfText("{\"a\": 1}}"),
             StartsWith("malformed: config.json:1:"));
  CHECK_THAT(errorOfText("{\"a\": \"b"),
             StartsWith("malformed: config.json:1:"));
  CHECK_THAT(errorOfText("\xef\xbb\xbf{}"), StartsWith("malformed"));
}

TEST_CASE("no object") {
  CHECK(errorOfText("") ==
        "malformed: config.json: empty, expected a JSON object");
  CHECK(errorOfText(" \n\t") ==
        "malformed: config.json: empty, expected a JSON object");
  for (const char *text : {"[]", "1", "\"llama\"", "null", "true"})
    CHECK_THAT(errorOfText(text),
               StartsWith("malformed: config.json: found a JSON value that is "
                          "not an object"));
}

TEST_CASE("text that is not UTF-8") {
  CHECK_THAT(errorOfText("{\"model_type\": \"\xff\xfe\"}"),
             StartsWith("malformed: config.json:1:") && Contains("UTF-8"));
  CHECK_THAT(errorOfText(std::string("{\0}", 3)), StartsWith("malformed"));
}

TEST_CASE("every prefix of a config is an error") {
  std::string text = readFile(goldenPath("qwen3_moe", "config.json"));
  size_t end = text.rfind('}');
  for (size_t length = 0; length <= end; ++length) {
    INFO(length);
    CHECK_THAT(errorOfText(text.substr(0, length)),
               StartsWith("malformed: config.json"));
  }
  CHECK(errorOfText(text.substr(0, end + 1)) == "");
}

TEST_CASE("any byte of a config may be damaged") {
  std::string text = readFile(goldenPath("phi3", "config.json"));
  for (size_t at = 0; at < text.size(); ++at)
    for (char byte : {'\0', '"', '\\', '{', '[', '9', '-', '\x80', 'e'}) {
      std::string damaged = text;
      damaged[at] = byte;
      // Either a config or an error; the sanitizers judge the rest.
      std::string error = errorOfText(damaged);
      if (!error.empty())
        CHECK_THAT(error, Contains("config.json"));
    }
}

TEST_CASE("deep nesting does not reach the recursive parser") {
  for (const char *open : {"[", "{\"a\":", "[{\"a\":"}) {
    std::string text;
    while (text.size() < (size_t(1) << 20))
      text += open;
    CHECK_THAT(errorOfText(text), StartsWith("malformed: config.json:1:") &&
                                      Contains("nested deeper than 64"));
  }
  // Brackets in a string are not nesting.
  CHECK(errorOfText(
            llamaWith("\"note\": \"" + std::string(1000, '[') + "\"")) == "");
}

TEST_CASE("a key given twice") {
  CHECK_THAT(errorOfText(llamaWith("\"hidden_size\": 32")),
             StartsWith("malformed: config.json:1:") &&
                 Contains("key 'hidden_size' is given twice"));
  CHECK_THAT(errorOfText(llamaWith("\"hidden_\\u0073ize\": 32")),
             Contains("key 'hidden_size' is given twice"));
  CHECK_THAT(errorOfText(llamaWith("\"a\": {\"b\": [{\"c\": 1, \"c\": 1}]}")),
             Contains("key 'a.b[0].c' is given twice"));
  CHECK(errorOfText(llamaWith("\"a\": {\"x\": 1}, \"b\": {\"x\": 1}")) == "");
}

TEST_CASE("numbers follow JSON's grammar") {
  for (const char *number : {"01", "+1", ".5", "1.", "1e", "--1", "1-2", "-"}) {
    CAPTURE(number);
    CHECK_THAT(errorOfText(llamaWith(std::string("\"a\": ") + number)),
               StartsWith("malformed: config.json:1:"));
  }
  for (const char *number : {"0", "-0", "1.50", "1E+2", "-1.5e-300"})
    CHECK(errorOfText(llamaWith(std::string("\"a\": ") + number)) == "");
}

TEST_CASE("Python's NaN and Infinity are read, and refused where they count") {
  CHECK(errorOfText(llamaWith("\"a\": [0.0, Infinity, -Infinity, NaN]")) == "");
  CHECK_THAT(ConfigSource("llama").setRaw("hidden_size", "-Infinity").error(),
             Contains("key 'hidden_size': found number -Infinity"));
  CHECK_THAT(errorOfText("{\"a\": Infinit}"), StartsWith("malformed"));
}

TEST_CASE("files that cannot be read") {
  CHECK_THAT(errorOf(readHFConfig("/nonexistent/config.json")),
             StartsWith("malformed: /nonexistent/config.json: cannot be read"));
  CHECK_THAT(errorOf(readHFConfig(LAYLINE_SOURCE_DIR "/data")),
             Contains("cannot be read: not a file"));
  CHECK_THAT(errorOf(readHFConfig("/dev/zero")), Contains("not a file"));
}
