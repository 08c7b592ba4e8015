//===- TensorComparison.cpp - a run against recorded tensors --------------===//
#include "TensorComparison.h"
#include "TextTable.h"
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <vector>

using namespace layline;
using namespace layline::tool;

namespace {

/// A recorded value as doubles, row-major.
struct Recorded {
  std::vector<int64_t> shape;
  std::vector<double> values;
};

bool endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// Inputs and prefixes of the reference run, and its float32 twin: nothing that
/// a plan computes.
bool isInput(const std::string &name) {
  return name == "input_ids" || name == "position_ids" ||
         name == "prefix_input_ids" || name.rfind("f32.", 0) == 0 ||
         name.find(".past_") != std::string::npos;
}

bool isInteger(const safetensors::Tensor &tensor) {
  return tensor.dtype == safetensors::DType::I64 ||
         tensor.dtype == safetensors::DType::I32 ||
         tensor.dtype == safetensors::DType::U8;
}

Recorded ofShape(const layline_shape &shape) {
  Recorded recorded;
  recorded.shape.assign(shape.dims, shape.dims + shape.rank);
  recorded.values.resize(static_cast<size_t>(
      std::accumulate(recorded.shape.begin(), recorded.shape.end(), int64_t(1),
                      std::multiplies<>())));
  return recorded;
}

/// By `read`(type, target, count).
template <typename Read>
std::optional<Recorded> readInto(Recorded recorded, const Read &read) {
  auto count = static_cast<int64_t>(recorded.values.size());
  if (read(LAYLINE_F64, recorded.values.data(), count) == LAYLINE_OK)
    return recorded;
  // Integers are read as such.
  std::vector<int64_t> integers(recorded.values.size());
  if (read(LAYLINE_I64, integers.data(), count) != LAYLINE_OK)
    return std::nullopt;
  std::transform(integers.begin(), integers.end(), recorded.values.begin(),
                 [](int64_t value) { return static_cast<double>(value); });
  return recorded;
}

std::optional<Recorded> readTap(layline_engine *engine,
                                const std::string &name) {
  int64_t index = 0;
  layline_shape shape{};
  if (layline_tap_find(engine, name.c_str(), &index) != LAYLINE_OK ||
      layline_tap_shape(engine, index, &shape) != LAYLINE_OK)
    return std::nullopt;
  return readInto(ofShape(shape),
                  [&](layline_dtype type, void *to, int64_t count) {
                    return layline_tap_read(engine, index, type, to, count);
                  });
}

std::optional<Recorded> readOutput(layline_engine *engine,
                                   const std::string &name) {
  layline_shape shape{};
  if (layline_output_shape(engine, name.c_str(), &shape) != LAYLINE_OK)
    return std::nullopt;
  return readInto(
      ofShape(shape), [&](layline_dtype type, void *to, int64_t count) {
        return layline_output_read(engine, name.c_str(), type, to, count);
      });
}

/// The reference's rows from `first` on, in the shape of the run's value.
std::optional<std::vector<double>>
readReference(const safetensors::File &file, const std::string &name,
              const Recorded &run, int64_t first, std::string &problem) {
  const safetensors::Tensor *tensor = file.find(name);
  std::vector<int64_t> shape = tensor->shape;
  bool isBatch = shape.size() == run.shape.size() + 1 && shape[0] == 1;
  if (isBatch)
    shape.erase(shape.begin());
  // [1, heads, tokens, width] against [tokens, heads, width]
  bool headsFirst = isBatch && run.shape.size() == 3;
  if (headsFirst)
    std::swap(shape[0], shape[1]);
  bool fits = shape.size() == run.shape.size() &&
              shape[0] >= first + run.shape[0] &&
              std::equal(shape.begin() + 1, shape.end(), run.shape.begin() + 1);
  if (!fits) {
    problem = "shape differs";
    return std::nullopt;
  }
  std::optional<std::vector<double>> stored;
  if (isInteger(*tensor)) {
    if (auto integers = file.readI64(name, problem))
      stored.emplace(integers->begin(), integers->end());
  } else {
    stored = file.readF64(name, problem);
  }
  if (!stored)
    return std::nullopt;
  if (!headsFirst) {
    int64_t rowSize =
        run.shape[0] ? static_cast<int64_t>(run.values.size()) / run.shape[0]
                     : 0;
    stored->erase(stored->begin(), stored->begin() + first * rowSize);
    stored->resize(run.values.size());
    return stored;
  }
  std::vector<double> values(run.values.size());
  int64_t heads = run.shape[1], width = run.shape[2];
  for (int64_t token = 0; token < run.shape[0]; ++token)
    for (int64_t head = 0; head < heads; ++head)
      for (int64_t i = 0; i < width; ++i)
        values[(token * heads + head) * width + i] =
            (*stored)[(head * shape[0] + first + token) * width + i];
  return values;
}

/// Sorts each row of experts' numbers ascending and applies the same order to
/// `values` (the numbers themselves, or their weights).
void sortByExpert(const Recorded &ids, std::vector<double> &values) {
  size_t width = static_cast<size_t>(ids.shape.back());
  for (size_t row = 0; row + width <= ids.values.size(); row += width) {
    std::vector<size_t> order(width);
    std::iota(order.begin(), order.end(), size_t(0));
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return ids.values[row + a] < ids.values[row + b];
    });
    std::vector<double> sorted(width);
    for (size_t i = 0; i < width; ++i)
      sorted[i] = values[row + order[i]];
    std::copy(sorted.begin(), sorted.end(),
              values.begin() + static_cast<std::ptrdiff_t>(row));
  }
}

/// Whether the value is of an indexer's selection: a reference has it for every
/// key, a run for those that it selects.
bool isOfSelection(const std::string &name) {
  return endsWith(name, ".indexer_selected") ||
         endsWith(name, ".indexer_scores");
}

/// A selection of key rows [tokens, k] as a mask over `keys` rows.
Recorded toMask(const Recorded &selection, int64_t keys) {
  Recorded mask;
  mask.shape = {selection.shape[0], keys};
  mask.values.resize(static_cast<size_t>(selection.shape[0] * keys));
  int64_t width = selection.shape[1];
  for (size_t i = 0; i < selection.values.size(); ++i) {
    auto row = static_cast<int64_t>(selection.values[i]);
    if (row >= 0 && row < keys)
      mask.values[static_cast<size_t>(static_cast<int64_t>(i) / width * keys +
                                      row)] = 1;
  }
  return mask;
}

/// The run's value for every key: 1 or the score of those selected, 0 of the
/// others.
std::optional<Recorded> spreadSelection(layline_engine *engine,
                                        const std::string &name,
                                        const Recorded &run, int64_t keys) {
  std::string prefix = name.substr(0, name.rfind('.') + 1);
  std::optional<Recorded> selection =
      readTap(engine, prefix + "indexer_selected");
  if (!selection || selection->shape.size() != 2 ||
      selection->shape != run.shape)
    return std::nullopt;
  Recorded spread = toMask(*selection, keys);
  if (endsWith(name, ".indexer_selected"))
    return spread;
  int64_t width = run.shape[1];
  for (size_t i = 0; i < run.values.size(); ++i) {
    auto row = static_cast<int64_t>(selection->values[i]);
    if (row >= 0 && row < keys)
      spread.values[static_cast<size_t>(static_cast<int64_t>(i) / width * keys +
                                        row)] = run.values[i];
  }
  return spread;
}

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text;
  for (int64_t dim : shape)
    text += (text.empty() ? "" : " x ") + std::to_string(dim);
  return text;
}

} // namespace

ComparisonResult layline::tool::compareRun(layline_engine *engine,
                                           const safetensors::File &file,
                                           int64_t first, int64_t tokens,
                                           double rtol, Compared compared,
                                           std::ostream &os) {
  ComparisonResult result;
  TextTable table({"tensor", "shape", ">largest error", "within"});
  for (const auto &[name, tensor] : file.tensors()) {
    if (isInput(name))
      continue;
    std::optional<Recorded> run = compared == Compared::Outputs
                                      ? readOutput(engine, name)
                                      : readTap(engine, name);
    if (!run && compared == Compared::Outputs)
      continue;
    if (!run) {
      // A tensor that silently drops out of the comparison proves nothing.
      table.add(
          {name, "", "", "MISSING: not in the plan, or kept inside a kernel"});
      ++result.failed;
      continue;
    }
    if (run->shape.empty() || run->shape[0] != tokens) {
      result.error = name + ": the run gives " + shapeText(run->shape) +
                     ", expected " + std::to_string(tokens) + " rows";
      return result;
    }
    std::optional<Recorded> selected;
    if (isOfSelection(name) && !tensor.shape.empty()) {
      std::string prefix = name.substr(0, name.rfind('.') + 1);
      int64_t keys = tensor.shape.back();
      std::optional<Recorded> spread =
          spreadSelection(engine, name, *run, keys);
      selected = readTap(engine, prefix + "indexer_selected");
      if (!spread) {
        result.error = name + ": the run has no selection of its shape";
        return result;
      }
      run = std::move(spread);
      selected = toMask(*selected, keys);
    }
    std::string problem;
    std::optional<std::vector<double>> reference =
        readReference(file, name, *run, first, problem);
    if (!reference) {
      result.error = file.path() + ": " + name + ": " + problem + ": found " +
                     shapeText(tensor.shape) + ", expected " +
                     shapeText(run->shape) + " (rows may be more)";
      return result;
    }
    // What is not selected has a score in the reference only. Scores of a row
    // may cancel: their bound is of the largest recorded one.
    double largest = 0;
    if (selected) {
      std::optional<std::vector<double>> all = file.readF64(name, problem);
      for (double value : all.value_or(std::vector<double>()))
        largest = std::max(largest, std::abs(value));
    }
    for (size_t i = 0;
         endsWith(name, ".indexer_scores") && i < reference->size(); ++i)
      (*reference)[i] *= selected->values[i];
    if (bool isWeight = endsWith(name, ".topk_w");
        isWeight || endsWith(name, ".topk_idx")) {
      std::string idsName =
          isWeight ? name.substr(0, name.size() - 1) + "idx" : name;
      std::optional<Recorded> ids = readTap(engine, idsName);
      std::optional<std::vector<double>> ofReference;
      if (ids && file.find(idsName))
        ofReference = readReference(file, idsName, *ids, first, problem);
      if (ids)
        sortByExpert(*ids, run->values);
      // A saved run has them as they were chosen.
      if (ofReference)
        sortByExpert({ids->shape, *ofReference}, *reference);
    }
    double difference = 0;
    bool isNumber = true;
    for (size_t i = 0; i < reference->size(); ++i) {
      largest = std::max(largest, std::abs((*reference)[i]));
      double delta = std::abs(run->values[i] - (*reference)[i]);
      isNumber = isNumber && std::isfinite(delta);
      difference = std::max(difference, delta);
    }
    double error = largest > 0 ? difference / largest : difference;
    bool good =
        isNumber && (isInteger(tensor) ? difference == 0 : error <= rtol);
    table.add({name, shapeText(run->shape),
               isNumber ? formatError(error) : "not a number",
               good ? "yes" : "NO"});
    ++result.compared;
    result.failed += !good;
  }
  table.print(os);
  return result;
}
