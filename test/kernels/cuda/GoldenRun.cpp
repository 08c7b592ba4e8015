#include "GoldenRun.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <stdexcept>

namespace layline::test {

GoldenRun::GoldenRun(const std::string &device, const std::string &plan,
                     const std::string &model, layline_precision precision,
                     bool taps, const layline_allocator *allocator,
                     const More &more) {
  layline_options options;
  layline_options_init(&options);
  options.device = device.c_str();
  options.precision = precision;
  options.taps = taps;
  options.poison = 1;
  options.transport = more.transport.c_str();
  options.timeout = more.timeout;
  options.by_switch = more.bySwitch;
  layline_engine *engine = nullptr;
  layline_status status = layline_engine_create(&options, &engine);
  engine_.reset(engine);
  check(status);
  if (allocator)
    check(layline_allocator_set(engine, allocator));
  std::string folder = std::string(LAYLINE_GOLDEN_DIR "/") + model + "/";
  std::string path = std::string(LAYLINE_PLANS_DIR "/") + plan + "/plan.json";
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)),
                   std::istreambuf_iterator<char>());
  // Most frozen plans are of models in float32: as if they were in bfloat16.
  // Arenas stay as large as they are.
  auto edited = nlohmann::ordered_json::parse(text);
  if (precision == LAYLINE_PRECISION_BF16 &&
      edited["target"]["dtype"] == "f32") {
    edited = nlohmann::ordered_json::parse(
        std::regex_replace(text, std::regex("\"f32\""), "\"bf16\""));
    for (auto &weight : edited["weights"])
      weight["bytes_per_rank"] =
          weight["bytes_per_rank"].get<std::int64_t>() / 2;
    text = edited.dump();
  }
  check(
      layline_plan_load_memory(engine, text.data(), text.size(), path.c_str()));
  check(layline_weights_load(engine, (folder + "model.safetensors").c_str()));
  std::string reason;
  golden_ = safetensors::File::open(folder + "golden.safetensors", reason);
  if (!golden_)
    throw std::runtime_error(reason);
}

void GoldenRun::check(layline_status status) {
  if (status != LAYLINE_OK)
    throw std::runtime_error(engine_ ? layline_engine_error(engine_.get())
                                     : layline_engine_create_error());
}

void GoldenRun::run(std::int64_t begin, std::int64_t count) {
  for (auto [input, key] : {std::pair("input_ids", "input_ids"),
                            std::pair("positions", "position_ids")}) {
    std::string reason;
    std::vector<std::int64_t> all = golden_->readI64(key, reason).value();
    check(layline_input_bind(engine_.get(), input, all.data() + begin, count));
  }
  check(layline_run(engine_.get(), count));
}

std::vector<double> GoldenRun::logits() {
  layline_shape shape;
  check(layline_output_shape(engine_.get(), "logits", &shape));
  std::vector<double> values(
      static_cast<std::size_t>(shape.dims[0] * shape.dims[1]));
  check(layline_output_read(engine_.get(), "logits", LAYLINE_F64, values.data(),
                            static_cast<std::int64_t>(values.size())));
  return values;
}

std::vector<double> GoldenRun::cache(const std::string &id,
                                     std::int64_t elements) {
  std::vector<double> values(static_cast<std::size_t>(elements));
  check(layline_cache_read(engine_.get(), id.c_str(), LAYLINE_F64,
                           values.data(), elements));
  return values;
}

std::vector<std::string> GoldenRun::tapNames() {
  std::int64_t count = 0;
  check(layline_tap_count(engine_.get(), &count));
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < count; ++i) {
    const char *name = nullptr;
    check(layline_tap_name(engine_.get(), i, &name));
    names.push_back(name);
  }
  return names;
}

std::vector<double> GoldenRun::tap(const std::string &name) {
  std::int64_t index = 0;
  check(layline_tap_find(engine_.get(), name.c_str(), &index));
  layline_shape shape;
  check(layline_tap_shape(engine_.get(), index, &shape));
  std::int64_t elements = 1;
  for (int d = 0; d < shape.rank; ++d)
    elements *= shape.dims[d];
  std::vector<double> values(static_cast<std::size_t>(elements));
  layline_status status = layline_tap_read(engine_.get(), index, LAYLINE_F64,
                                           values.data(), elements);
  if (status == LAYLINE_BAD_ARGUMENT) { // of integers
    std::vector<std::int64_t> integers(values.size());
    status = layline_tap_read(engine_.get(), index, LAYLINE_I64,
                              integers.data(), elements);
    values.assign(integers.begin(), integers.end());
  }
  check(status);
  return values;
}

std::vector<double> GoldenRun::recorded(const std::string &name,
                                        std::int64_t begin,
                                        std::int64_t count) const {
  const safetensors::Tensor *tensor = golden_->find(name);
  std::string reason;
  // [T, d] or [1, T, d]; those with heads in front stand as [1, heads, T, d].
  if (!tensor || tensor->shape.size() < 2 || tensor->shape.size() > 3)
    return {};
  std::vector<double> all = golden_->readF64(name, reason).value();
  std::int64_t width = tensor->shape.back();
  return {all.begin() + begin * width, all.begin() + (begin + count) * width};
}

} // namespace layline::test
