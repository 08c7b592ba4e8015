//===- Batch.cpp - batch compositions in annotations ----------------------===//
#include "layline/Trace/Trace.h"
#include <charconv>
#include <string_view>

using namespace layline::trace;

namespace {

/// Takes a text apart from its front.
struct Scanner {
  std::string_view rest;

  bool skip(std::string_view word) {
    if (rest.substr(0, word.size()) != word)
      return false;
    rest.remove_prefix(word.size());
    return true;
  }
  bool number(int64_t &value) {
    auto [end, error] =
        std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc() || value < 0)
      return false;
    rest.remove_prefix(end - rest.data());
    return true;
  }
  bool skipPast(char last) {
    size_t at = rest.find(last);
    if (at == std::string_view::npos)
      return false;
    rest.remove_prefix(at + 1);
    return true;
  }
};

} // namespace

/// "context_1(888_788544)": requests, then tokens, which may stand behind "sq".
static bool scanPart(Scanner &scanner, std::string_view word, int64_t &requests,
                     int64_t &tokens) {
  if (!scanner.skip(word) || !scanner.number(requests) || !scanner.skip("("))
    return false;
  scanner.skip("sq");
  return scanner.number(tokens) && scanner.skipPast(')');
}

static std::optional<BatchComposition> parseVLLM(std::string_view text) {
  Scanner scanner{text};
  BatchComposition batch;
  int64_t padded;
  if (!scanner.skip("execute_"))
    return std::nullopt;
  if (scanner.number(padded) && !scanner.skip("_"))
    return std::nullopt;
  if (!scanPart(scanner, "context_", batch.prefillRequests,
                batch.prefillTokens) ||
      !scanPart(scanner, "_generation_", batch.decodeRequests,
                batch.decodeTokens))
    return std::nullopt;
  return batch;
}

static std::optional<BatchComposition> parseSGLang(std::string_view text) {
  Scanner scanner{text};
  int64_t requests = 0, tokens = -1;
  if (!scanner.skip("step["))
    return std::nullopt;
  bool isDecode = scanner.skip("DECODE ");
  if (!isDecode && !scanner.skip("EXTEND ") && !scanner.skip("MIXED "))
    return std::nullopt;
  if (!scanner.skip("bs=") || !scanner.number(requests))
    return std::nullopt;
  if (scanner.skip(" toks=") && !scanner.number(tokens))
    return std::nullopt;
  BatchComposition batch;
  if (isDecode) {
    batch.decodeRequests = requests;
    batch.decodeTokens = tokens < 0 ? requests : tokens;
  } else if (tokens >= 0) {
    batch.prefillRequests = requests;
    batch.prefillTokens = tokens;
  } else {
    return std::nullopt; // how many tokens is not said
  }
  return batch;
}

std::optional<BatchComposition>
layline::trace::parseBatch(const std::string &annotation) {
  if (std::optional<BatchComposition> batch = parseVLLM(annotation))
    return batch;
  return parseSGLang(annotation);
}
