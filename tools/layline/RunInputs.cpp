//===- RunInputs.cpp - what layline run is given --------------------------===//
#include "Run.h"
#include <numeric>

using namespace layline;
using namespace layline::tool;

/// Rows cached before the first token: layer.i.past_k, layer.i.past_v as
/// [1, heads, past, width], at the positions before `first`.
bool Run::bindPrefix(const safetensors::File &file, int64_t first) {
  int64_t count = 0, past = 0;
  if (!check(layline_plan_count(engine.get(), LAYLINE_PLAN_CACHES, &count)))
    return false;
  const safetensors::Tensor *prefix = file.find("prefix_input_ids");
  if (!prefix)
    return true;
  past = prefix->elements();
  if (past > first) {
    return refuse(
        file.path() + ": prefix_input_ids has " + std::to_string(past) +
        " tokens, but the input begins at position " + std::to_string(first));
  }
  for (int64_t i = 0; i < count; ++i) {
    layline_cache_info info{};
    if (!check(layline_plan_cache(engine.get(), i, &info)))
      return false;
    if (info.is_integer) {
      std::vector<int64_t> cached(static_cast<size_t>(past));
      std::iota(cached.begin(), cached.end(), first - past);
      if (!check(layline_cache_bind(engine.get(), info.id, LAYLINE_I64,
                                    cached.data(), past)))
        return false;
      continue;
    }
    std::string name = "layer." + std::to_string(info.layer) + ".past_" +
                       (std::string(info.plane) == "key" ? "k" : "v");
    const safetensors::Tensor *tensor = file.find(name);
    int64_t heads = info.row_shape.dims[0], width = info.row_shape.dims[1];
    if (!tensor ||
        tensor->shape != std::vector<int64_t>{1, heads, past, width}) {
      return refuse(file.path() + ": " + name + ": " +
                    (tensor ? "found another shape" : "not found") +
                    ", expected [1, " + std::to_string(heads) + ", " +
                    std::to_string(past) + ", " + std::to_string(width) + "]");
    }
    std::string error;
    auto stored = file.readF64(name, error);
    if (!stored)
      return refuse(error);
    std::vector<double> rows(stored->size());
    for (int64_t head = 0; head < heads; ++head)
      for (int64_t row = 0; row < past; ++row)
        for (int64_t j = 0; j < width; ++j)
          rows[(row * heads + head) * width + j] =
              (*stored)[(head * past + row) * width + j];
    if (!check(layline_cache_bind(engine.get(), info.id, LAYLINE_F64,
                                  rows.data(), past)))
      return false;
  }
  return check(layline_past_set(engine.get(), past));
}

bool Run::bindInputs(const safetensors::File &file) {
  std::string error;
  auto fail = [&](const std::string &message) {
    return refuse(file.path() + ": " + message);
  };
  if (!file.find("input_ids"))
    return fail("input_ids: not found, expected the token ids, [tokens] or "
                "[1, tokens]");
  auto tokenIds = file.readI64("input_ids", error);
  if (!tokenIds)
    return fail(error);
  ids = *tokenIds;
  int64_t rows = static_cast<int64_t>(ids.size());
  positions.resize(ids.size());
  std::iota(positions.begin(), positions.end(), int64_t(0));
  if (const safetensors::Tensor *tensor = file.find("position_ids")) {
    auto given = file.readI64("position_ids", error);
    if (!given || tensor->elements() != rows)
      return fail(given ? "position_ids has " +
                              std::to_string(tensor->elements()) +
                              " entries, expected " + std::to_string(rows)
                        : error);
    positions = *given;
  } else if (const safetensors::Tensor *prefix =
                 file.find("prefix_input_ids")) {
    for (int64_t &position : positions)
      position += prefix->elements();
  }
  tokens = arguments.tokens.value_or(rows);
  if (tokens < 1 || tokens > rows) {
    return refuse("--tokens: found " + std::to_string(tokens) +
                  ", expected 1 to " + std::to_string(rows) + ", the rows of " +
                  file.path());
  }
  return bindPrefix(file, positions[0]);
}
