// Byte-level BPE: text to token ids and back (tokenizer.txt, which
// fetch_smollm2.py describes).
#ifndef LAYLINE_EXAMPLES_GENERATE_TOKENIZER_H
#define LAYLINE_EXAMPLES_GENERATE_TOKENIZER_H

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace generate {

class Tokenizer {
public:
  /// Throws std::runtime_error that names the file and the line.
  explicit Tokenizer(const std::string &path);

  /// Text is split into words as GPT-2 does, digits one by one; bytes above 127
  /// count as letters, which is what they mostly are.
  std::vector<std::int64_t> encode(const std::string &text) const;
  /// The bytes of a token; its id in angle brackets if it stands for none.
  std::string decode(std::int64_t id) const;
  std::int64_t end() const { return end_; }

private:
  struct Merge {
    std::int64_t rank, result;
  };
  static std::uint64_t pairOf(std::int64_t left, std::int64_t right) {
    return static_cast<std::uint64_t>(left) << 32 |
           static_cast<std::uint64_t>(right);
  }
  void encodeWord(const std::string &word,
                  std::vector<std::int64_t> &ids) const;

  std::vector<std::string> tokens_;
  std::vector<std::int64_t> byteTokens_;
  std::unordered_map<std::uint64_t, Merge> merges_;
  std::int64_t end_ = -1;
};

} // namespace generate

#endif // LAYLINE_EXAMPLES_GENERATE_TOKENIZER_H
