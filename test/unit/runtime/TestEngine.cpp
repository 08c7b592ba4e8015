#include "TestEngine.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace layline::test {
namespace {

std::int64_t product(const layline_shape &shape) {
  std::int64_t result = 1;
  for (int i = 0; i < shape.rank; ++i)
    result *= shape.dims[i];
  return result;
}

} // namespace

TestEngine::TestEngine(const Json &plan, layline_precision precision,
                       const char *device, bool taps) {
  layline_options options;
  layline_options_init(&options);
  options.precision = precision;
  options.device = device;
  options.taps = taps;
  options.poison = 1;
  layline_engine *engine = nullptr;
  layline_status status = layline_engine_create(&options, &engine);
  engine_.reset(engine);
  if (status != LAYLINE_OK)
    throw Failure(status, layline_engine_create_error());
  std::string text = plan.dump();
  check(layline_plan_load_memory(get(), text.data(), text.size(), "plan"));
}

void TestEngine::check(layline_status status) {
  if (status != LAYLINE_OK)
    throw Failure(status, layline_engine_error(get()));
}

void TestEngine::weight(const std::string &key, const Value &value) {
  layline_shape shape = {};
  shape.rank = static_cast<std::int32_t>(value.shape.size());
  std::copy(value.shape.begin(), value.shape.end(), shape.dims);
  check(layline_weight_bind(get(), key.c_str(), LAYLINE_F64, &shape,
                            value.data.data()));
}

void TestEngine::input(const std::string &id,
                       const std::vector<std::int64_t> &values) {
  check(layline_input_bind(get(), id.c_str(), values.data(),
                           static_cast<std::int64_t>(values.size())));
}

void TestEngine::run(std::int64_t tokens) { check(layline_run(get(), tokens)); }

Value TestEngine::output(const std::string &id) {
  layline_shape shape;
  check(layline_output_shape(get(), id.c_str(), &shape));
  Value value{{shape.dims, shape.dims + shape.rank}, {}};
  value.data.resize(static_cast<std::size_t>(product(shape)));
  check(layline_output_read(get(), id.c_str(), LAYLINE_F64, value.data.data(),
                            product(shape)));
  return value;
}

std::vector<std::int64_t> TestEngine::integers(const std::string &id) {
  layline_shape shape;
  check(layline_output_shape(get(), id.c_str(), &shape));
  std::vector<std::int64_t> values(static_cast<std::size_t>(product(shape)));
  check(layline_output_read(get(), id.c_str(), LAYLINE_I64, values.data(),
                            product(shape)));
  return values;
}

Value TestEngine::tap(const std::string &name) {
  std::int64_t index = -1;
  check(layline_tap_find(get(), name.c_str(), &index));
  layline_shape shape;
  check(layline_tap_shape(get(), index, &shape));
  Value value{{shape.dims, shape.dims + shape.rank}, {}};
  value.data.resize(static_cast<std::size_t>(product(shape)));
  check(layline_tap_read(get(), index, LAYLINE_F64, value.data.data(),
                         product(shape)));
  return value;
}

std::vector<std::string> TestEngine::tapNames() {
  std::int64_t number = 0;
  check(layline_tap_count(get(), &number));
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < number; ++i) {
    const char *name = nullptr;
    check(layline_tap_name(get(), i, &name));
    names.emplace_back(name);
  }
  return names;
}

Value randomValue(const std::vector<std::int64_t> &shape, std::uint64_t seed) {
  Value value{shape, {}};
  std::size_t size = 1;
  for (std::int64_t dim : shape)
    size *= static_cast<std::size_t>(dim);
  // splitmix64
  for (std::size_t i = 0; i < size; ++i) {
    std::uint64_t z = (seed += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    z ^= z >> 31;
    value.data.push_back(static_cast<double>(z >> 11) * 0x1p-52 - 1);
  }
  return value;
}

std::vector<std::int64_t> count(std::int64_t n, std::int64_t from) {
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < n; ++i)
    result.push_back(from + i);
  return result;
}

double error(const std::vector<double> &found,
             const std::vector<double> &expected) {
  if (found.size() != expected.size())
    return std::numeric_limits<double>::infinity();
  double largest = 0, difference = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (std::isnan(found[i]))
      return std::numeric_limits<double>::infinity();
    largest = std::max(largest, std::abs(expected[i]));
    difference = std::max(difference, std::abs(found[i] - expected[i]));
  }
  return difference == 0 ? 0 : difference / largest;
}

std::string findings(const Json &plan) {
  std::string text = plan.dump();
  char *report = nullptr;
  layline_status status =
      layline_plan_check_memory(text.data(), text.size(), "plan", &report);
  std::string result = report ? report : "no report";
  layline_string_free(report);
  if ((status == LAYLINE_OK) != result.empty())
    return "status and report contradict each other: " + result;
  return result;
}

} // namespace layline::test
