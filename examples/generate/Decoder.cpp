#include "Decoder.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <stdexcept>

namespace generate {

void Decoder::check(layline_status status) const {
  if (status != LAYLINE_OK)
    throw std::runtime_error(layline_engine_error(engine_.get()));
}

Decoder::Decoder(const std::string &plan,
                 const std::vector<std::string> &weights,
                 std::int64_t sequences, std::int64_t rows,
                 const std::string &transport)
    : cache_(sequences, rows), lengths_(static_cast<std::size_t>(sequences)) {
  layline_options options;
  layline_options_init(&options);
  options.transport = transport.c_str();
  layline_engine *engine = nullptr;
  layline_status status = layline_engine_create(&options, &engine);
  engine_.reset(engine);
  if (status != LAYLINE_OK)
    throw std::runtime_error(layline_engine_create_error());
  check(layline_plan_load(engine, plan.c_str()));
  check(layline_plan_ranks(engine, &ranks_));
  std::int64_t here = 0;
  check(layline_plan_local_ranks(engine, &firstRank_, &here));
  std::int64_t min = 0, maxPast = 0;
  check(layline_plan_symbol(engine, "tokens", &min, &maxTokens_));
  check(layline_plan_symbol(engine, "past", &min, &maxPast));
  if (rows > maxPast)
    throw std::runtime_error(
        "a sequence of " + std::to_string(rows) +
        " tokens is asked for; the plan allows a past of " +
        std::to_string(maxPast));
  for (const std::string &file : weights)
    check(layline_weights_load(engine, file.c_str()));
  check(layline_weights_check(engine));
  layline_cache_hooks hooks = cache_.hooks();
  check(layline_cache_hooks_set(engine, nullptr, &hooks));
}

std::string Decoder::variant(std::int64_t tokens) const {
  const char *id = "";
  check(layline_plan_variant(engine_.get(), tokens, &id));
  return id;
}

void Decoder::run(std::size_t sequence, const std::int64_t *tokens,
                  std::int64_t count) {
  layline_engine *engine = engine_.get();
  std::int64_t &length = lengths_[sequence];
  positions_.resize(static_cast<std::size_t>(count));
  std::iota(positions_.begin(), positions_.end(), length);
  cache_.choose(sequence);
  check(layline_past_set(engine, length));
  check(layline_input_bind(engine, "input_ids", tokens, count));
  check(layline_input_bind(engine, "positions", positions_.data(), count));
  check(layline_run(engine, count));
  length += count;
}

std::int64_t Decoder::next(std::size_t sequence,
                           const std::vector<std::int64_t> &tokens) {
  auto start = std::chrono::steady_clock::now();
  auto total = static_cast<std::int64_t>(tokens.size());
  std::int64_t rows = 0;
  for (std::int64_t first = 0; first < total; first += rows) {
    rows = std::min(maxTokens_, total - first);
    run(sequence, tokens.data() + first, rows);
  }
  layline_shape shape;
  check(layline_output_shape(engine_.get(), "logits", &shape));
  logits_.resize(static_cast<std::size_t>(shape.dims[1]));
  check(layline_output_read_rows(engine_.get(), "logits", rows - 1, 1,
                                 LAYLINE_F32, logits_.data(), shape.dims[1]));
  auto best = std::max_element(logits_.begin(), logits_.end());
  Speed &speed = total > 1 ? prefill_ : decode_;
  speed.tokens += total;
  speed.seconds +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return best - logits_.begin();
}

} // namespace generate
