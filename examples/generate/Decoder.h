// A decoder that a plan runs: tokens of a sequence in, the most likely next one
// out.
#ifndef LAYLINE_EXAMPLES_GENERATE_DECODER_H
#define LAYLINE_EXAMPLES_GENERATE_DECODER_H

#include "PagedCache.h"

#include <layline/hooks.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace generate {

/// Tokens that went in, and the time it took.
struct Speed {
  std::int64_t tokens = 0;
  double seconds = 0;
  double perSecond() const { return tokens > 0 ? tokens / seconds : 0; }
};

class Decoder {
public:
  /// Throws std::runtime_error with the engine's text, as all functions do.
  Decoder(const std::string &plan, const std::vector<std::string> &weights,
          std::int64_t sequences, std::int64_t rows,
          const std::string &transport);

  /// Runs tokens behind those that the sequence has, in steps that the plan
  /// allows. The most likely token behind the last of them.
  std::int64_t next(std::size_t sequence,
                    const std::vector<std::int64_t> &tokens);

  void beginTrace() { check(layline_trace_begin(engine_.get())); }
  void writeTrace(const std::string &path) {
    check(layline_trace_write(engine_.get(), path.c_str()));
  }

  std::int64_t ranks() const { return ranks_; }
  /// Whether rank 0 is in this process.
  bool isFirst() const { return firstRank_ == 0; }
  /// The plan's program for so many tokens in a step.
  std::string variant(std::int64_t tokens) const;
  const Speed &prefill() const { return prefill_; } ///< of several tokens
  const Speed &decode() const { return decode_; }   ///< of one each

private:
  void check(layline_status status) const;
  void run(std::size_t sequence, const std::int64_t *tokens,
           std::int64_t count);

  struct Destroy {
    void operator()(layline_engine *engine) const {
      layline_engine_destroy(engine);
    }
  };
  PagedCache cache_; // the engine works in it: destroyed after the engine
  std::unique_ptr<layline_engine, Destroy> engine_;
  std::int64_t ranks_ = 0, firstRank_ = 0, maxTokens_ = 0;
  std::vector<std::int64_t> lengths_; ///< by sequence
  std::vector<std::int64_t> positions_;
  std::vector<float> logits_;
  Speed prefill_, decode_;
};

} // namespace generate

#endif // LAYLINE_EXAMPLES_GENERATE_DECODER_H
