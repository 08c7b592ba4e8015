#include "Tokenizer.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace generate {
namespace {

/// Lines of a file, and where they are for messages.
class Lines {
public:
  explicit Lines(const std::string &path) : path_(path), in_(path) {
    if (!in_)
      throw std::runtime_error("'" + path + "': cannot be opened");
  }
  std::string next() {
    std::string line;
    ++number_;
    if (!std::getline(in_, line))
      fail("ends here");
    return line;
  }
  /// "KEYWORD NUMBER"
  std::int64_t next(const std::string &keyword) {
    std::istringstream line(next());
    std::string found;
    std::int64_t value = 0;
    if (!(line >> found >> value) || found != keyword || value < 0)
      fail("'" + keyword + " NUMBER' is expected");
    return value;
  }
  [[noreturn]] void fail(const std::string &why) const {
    throw std::runtime_error("'" + path_ + "': line " +
                             std::to_string(number_) + ": " + why);
  }

private:
  std::string path_;
  std::ifstream in_;
  int number_ = 0;
};

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         static_cast<unsigned char>(c) > 127;
}

/// Length of 's, 't, 're, 've, 'm, 'll or 'd at a place; 0: none is there.
std::size_t contractionAt(const std::string &text, std::size_t at) {
  for (const char *ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
    if (text.compare(at, std::string(ending).size(), ending) == 0)
      return std::string(ending).size();
  return 0;
}

/// End of the word that begins at `at`: GPT-2's pattern, in which a space
/// belongs to the word behind it, and the last of several spaces too.
std::size_t wordEnd(const std::string &text, std::size_t at) {
  if (std::size_t length = contractionAt(text, at))
    return at + length;
  std::size_t end = at;
  if (isDigit(text[at]))
    return at + 1;
  // Digits stand alone: a space in front of one is a word of its own.
  bool hasSpace = text[at] == ' ' && at + 1 < text.size() &&
                  !isSpace(text[at + 1]) && !isDigit(text[at + 1]);
  std::size_t first = at + (hasSpace ? 1 : 0);
  if (isSpace(text[first])) {
    for (end = first; end < text.size() && isSpace(text[end]);)
      ++end;
    // The last space goes with the word that follows.
    bool isBeforeWord = end < text.size() && !isDigit(text[end]);
    return isBeforeWord && end - at > 1 ? end - 1 : end;
  }
  auto isSame = [&](char c) {
    return isLetter(text[first]) ? isLetter(c)
                                 : !isLetter(c) && !isSpace(c) && !isDigit(c);
  };
  for (end = first; end < text.size() && isSame(text[end]);)
    ++end;
  return end;
}

std::string bytesOf(const std::string &hex, const Lines &lines) {
  std::string bytes;
  if (hex.size() % 2 != 0 ||
      hex.find_first_not_of("0123456789abcdef") != std::string::npos)
    lines.fail("'" + hex + "' is not hexadecimal");
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

} // namespace

Tokenizer::Tokenizer(const std::string &path) : byteTokens_(256, -1) {
  Lines lines(path);
  std::int64_t count = lines.next("tokens");
  for (std::int64_t id = 0; id < count; ++id) {
    std::string line = lines.next();
    tokens_.push_back(line == "-" ? "" : bytesOf(line, lines));
    if (tokens_.back().size() == 1)
      byteTokens_[static_cast<unsigned char>(tokens_.back()[0])] = id;
  }
  std::int64_t merges = lines.next("merges");
  for (std::int64_t rank = 0; rank < merges; ++rank) {
    std::istringstream line(lines.next());
    std::int64_t left = -1, right = -1, result = -1;
    line >> left >> right >> result;
    for (std::int64_t id : {left, right, result})
      if (id < 0 || id >= count)
        lines.fail("three token ids below " + std::to_string(count) +
                   " are expected");
    merges_.emplace(pairOf(left, right), Merge{rank, result});
  }
  end_ = lines.next("end");
}

void Tokenizer::encodeWord(const std::string &word,
                           std::vector<std::int64_t> &ids) const {
  std::vector<std::int64_t> parts;
  for (char c : word) {
    std::int64_t id = byteTokens_[static_cast<unsigned char>(c)];
    if (id < 0)
      throw std::runtime_error("the vocabulary has no token for byte " +
                               std::to_string(static_cast<unsigned char>(c)));
    parts.push_back(id);
  }
  // The best pair is joined until none is left.
  while (true) {
    const Merge *best = nullptr;
    std::size_t at = 0;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      auto found = merges_.find(pairOf(parts[i], parts[i + 1]));
      if (found != merges_.end() &&
          (!best || found->second.rank < best->rank)) {
        best = &found->second;
        at = i;
      }
    }
    if (!best)
      break;
    parts[at] = best->result;
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
  ids.insert(ids.end(), parts.begin(), parts.end());
}

std::vector<std::int64_t> Tokenizer::encode(const std::string &text) const {
  std::vector<std::int64_t> ids;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = wordEnd(text, at);
    encodeWord(text.substr(at, end - at), ids);
    at = end;
  }
  return ids;
}

std::string Tokenizer::decode(std::int64_t id) const {
  if (id < 0 || id >= static_cast<std::int64_t>(tokens_.size()) ||
      tokens_[static_cast<std::size_t>(id)].empty())
    return "<" + std::to_string(id) + ">";
  return tokens_[static_cast<std::size_t>(id)];
}

} // namespace generate
