#include "GoldenRun.h"

#include "KernelUses.h"
#include "layline/safetensors.h"

#include <algorithm>
#include <fstream>

namespace layline::test {
namespace {

std::unique_ptr<safetensors::File> open(const std::string &path) {
  std::string error;
  auto file = safetensors::File::open(path, error);
  if (!file)
    throw std::runtime_error(error);
  return file;
}

/// The first rows of a tensor as [T, ...]; recorded as [1, T, d] or [1, heads,
/// T, d].
std::vector<double> rowsOf(const safetensors::File &file,
                           const std::string &key, std::int64_t rows) {
  std::string error;
  std::vector<double> values = file.readF64(key, error).value(), result;
  const std::vector<std::int64_t> &shape = file.find(key)->shape;
  std::int64_t heads = shape.size() == 4 ? shape[1] : 1,
               recorded = shape[shape.size() - 2],
               width =
                   static_cast<std::int64_t>(values.size()) / recorded / heads;
  for (std::int64_t t = 0; t < rows; ++t)
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t i = 0; i < width; ++i)
        result.push_back(
            values[static_cast<std::size_t>((h * recorded + t) * width + i)]);
  return result;
}

} // namespace

Json frozenPlan(const std::string &name) {
  std::ifstream file(std::string(LAYLINE_PLANS_DIR "/") + name + "/plan.json");
  if (!file)
    throw std::runtime_error("no plan " + name);
  return Json::parse(file);
}

Json inBF16(Json plan) {
  plan["target"]["dtype"] = "bf16";
  auto convert = [](Json &list) {
    for (Json &item : list)
      if (item["dtype"] == "f32")
        item["dtype"] = "bf16";
  };
  convert(plan["weights"]);
  convert(plan["caches"]);
  for (Json &weight : plan["weights"])
    weight["bytes_per_rank"] = weight["bytes_per_rank"].get<std::int64_t>() / 2;
  for (Json &kernel : plan["kernels"])
    if (kernel["dtype"] == "f32")
      kernel["dtype"] = "bf16";
  for (Json &variant : plan["variants"])
    convert(variant["buffers"]);
  return plan;
}

GoldenRun::GoldenRun(const std::string &model, const Json &plan,
                     layline_precision precision, Asked asked,
                     const std::string &options)
    : engine(plan, precision, simt(options), asked == Asked::All),
      folder_(std::string(LAYLINE_GOLDEN_DIR "/") + model + "/") {
  engine.weights(folder_ + "model.safetensors");
}

void GoldenRun::run(std::int64_t tokens) {
  auto file = open(folder_ + "golden.safetensors");
  std::string error;
  std::vector<std::int64_t> ids = file->readI64("input_ids", error).value(),
                            positions =
                                file->readI64("position_ids", error).value();
  engine.check(layline_past_set(engine.get(), 0));
  engine.input("input_ids", {ids.begin(), ids.begin() + tokens});
  engine.input("positions", {positions.begin(), positions.begin() + tokens});
  tokens_ = tokens;
  engine.run(tokens);
}

double GoldenRun::error() {
  auto file = open(folder_ + "golden.safetensors");
  double worst = test::error(engine.output("logits").data,
                             rowsOf(*file, "logits", tokens_));
  compared_ = 1;
  for (const std::string &name : engine.tapNames()) {
    const safetensors::Tensor *tensor = file->find(name);
    if (!tensor || tensor->shape.size() < 3)
      continue;
    worst = std::max(worst, test::error(engine.tap(name).data,
                                        rowsOf(*file, name, tokens_)));
    ++compared_;
  }
  return worst;
}

} // namespace layline::test
