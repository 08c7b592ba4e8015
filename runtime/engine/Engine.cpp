#include "engine/Engine.h"

#include "plan/Load.h"
#include "transports/Hash.h"

#include <algorithm>

namespace layline::runtime {
namespace {

bool isFloat(safetensors::DType dtype) {
  using D = safetensors::DType;
  return dtype == D::F64 || dtype == D::F32 || dtype == D::F16 ||
         dtype == D::BF16;
}

} // namespace

Engine::Engine(std::string device, DeviceOptions options,
               std::unique_ptr<Transport> transport)
    : deviceName_(std::move(device)), options_(options),
      transport_(std::move(transport)) {
  options_.hooks = &hooks_;
  // An unknown device is refused now, not when a plan is loaded.
  checkDevice(deviceName_);
  if (options_.bySwitch && deviceName_ != "cuda")
    fail(LAYLINE_REFUSED_FEATURE, "device '", deviceName_,
         "' has no switch that sums and replicates (options.by_switch); device "
         "'cuda' is expected");
}

const Plan &Engine::plan() const {
  if (!plan_)
    fail(LAYLINE_NOT_BOUND, "no plan is loaded");
  return *plan_;
}

void Engine::dropPlan() {
  device_.reset();
  plan_.reset();
  uses_.clear();
  keys_.clear();
  isBound_.clear();
  weightFiles_.clear();
  inputs_.clear();
  past_ = 0;
  variant_ = nullptr;
  dropHooksOfPlan();
}

void Engine::loadPlan(std::string_view text, const std::string &name) {
  dropPlan();
  LoadedPlan loaded = runtime::loadPlan(text, name);
  if (!loaded.findings.empty())
    fail(loaded.status, loaded.findings.front(),
         loaded.findings.size() > 1
             ? concat(" (and ", loaded.findings.size() - 1, " more)")
             : std::string());
  auto plan = std::make_unique<Plan>(std::move(loaded.plan));
  transport_->connect(*plan, hashOf(text));
  transport_->agree(
      "options",
      combined(combined(hashOf(deviceName_),
                        static_cast<std::uint64_t>(options_.precision)),
               options_.bySwitch));
  hooks_.caches.assign(plan->caches.size(), {});
  hooks_.streams.assign(static_cast<std::size_t>(plan->ranks()),
                        std::vector<void *>(plan->streams.size()));
  device_ = makeDevice(deviceName_, *plan, options_, *transport_);
  plan_ = std::move(plan);
  for (std::size_t w = 0; w < plan_->weights.size(); ++w) {
    std::vector<std::string> keys = plan_->weights[w].keys();
    for (std::size_t i = 0; i < keys.size(); ++i)
      uses_[keys[i]].push_back(
          {static_cast<int>(w), static_cast<std::int64_t>(i)});
  }
  for (const auto &[key, uses] : uses_) {
    keys_.push_back(key);
    isBound_[key] = false;
  }
  inputs_.resize(plan_->inputs.size());
}

void Engine::loadWeights(const std::string &path) {
  plan();
  std::string error;
  std::unique_ptr<safetensors::File> file =
      safetensors::File::open(path, error);
  if (!file)
    fail(LAYLINE_UNREADABLE_FILE, error);
  for (const std::string &key : keys_)
    if (const safetensors::Tensor *tensor = file->find(key))
      bindWeight(key, *tensor, "'" + path + "'");
  weightFiles_.push_back(path);
}

void Engine::bindWeight(const std::string &key,
                        const safetensors::Tensor &tensor,
                        const std::string &from) {
  plan();
  auto found = uses_.find(key);
  if (found == uses_.end())
    fail(LAYLINE_BAD_ARGUMENT, "the plan has no weight with the key '", key,
         "'");
  for (const Use &use : found->second) {
    const Weight &weight = plan_->weights[use.weight];
    if (tensor.shape != weight.storedShape)
      fail(LAYLINE_WRONG_WEIGHT, from, ": tensor '", key, "' has shape ",
           print(tensor.shape), "; weight '", weight.id,
           "' of the plan expects ", print(weight.storedShape));
    if (!isFloat(tensor.dtype))
      fail(LAYLINE_WRONG_WEIGHT, from, ": tensor '", key, "' has dtype ",
           safetensors::dtypeName(tensor.dtype),
           "; F64, F32, F16 or BF16 is expected");
  }
  for (const Use &use : found->second)
    device_->bindWeight(use.weight, use.stackIndex, tensor);
  isBound_[key] = true;
}

void Engine::checkWeights() const {
  plan();
  std::size_t missing = 0;
  const std::string *first = nullptr;
  for (const auto &[key, bound] : isBound_)
    if (!bound && ++missing == 1)
      first = &key;
  if (!first)
    return;
  std::string files;
  for (const std::string &file : weightFiles_)
    files += (files.empty() ? "" : ", ") + ("'" + file + "'");
  fail(LAYLINE_MISSING_WEIGHT, "weight '",
       plan_->weights[uses_.at(*first).front().weight].id,
       "' of the plan expects tensor '", *first, "', which is ",
       files.empty() ? "not given: no weights are loaded" : "not in " + files,
       missing > 1 ? concat(" (and ", missing - 1, " more)") : std::string());
}

void Engine::bindInput(const std::string &id, const std::int64_t *data,
                       std::int64_t count) {
  for (std::size_t i = 0; i < plan().inputs.size(); ++i)
    if (plan_->inputs[i].id == id) {
      inputs_[i].emplace(data, data + count);
      return;
    }
  fail(LAYLINE_BAD_ARGUMENT, "the plan has no input '", id, "'");
}

int Engine::cache(const std::string &id) const {
  for (std::size_t i = 0; i < plan().caches.size(); ++i)
    if (plan_->caches[i].id == id)
      return static_cast<int>(i);
  fail(LAYLINE_BAD_ARGUMENT, "the plan has no cache '", id, "'");
}

void Engine::bindCache(int cache, const GlobalValue &rows) {
  device_->bindCache(cache, rows);
}

void Engine::setPast(std::int64_t rows) {
  if (rows < 0 || rows > plan().past.max)
    fail(LAYLINE_BAD_ARGUMENT, "past is ", rows, "; the plan allows [",
         plan_->past.min, ", ", plan_->past.max, "]");
  for (std::size_t c = 0; c < plan_->caches.size(); ++c)
    if (std::int64_t held = device_->cacheRows(static_cast<int>(c));
        held < rows && !hooks_.isHooked(c))
      fail(LAYLINE_NOT_BOUND, "cache '", plan_->caches[c].id, "' holds ", held,
           " rows; past is to be ", rows);
  for (std::size_t c = 0; c < plan_->caches.size(); ++c)
    device_->truncateCache(static_cast<int>(c), rows);
  past_ = rows;
}

void Engine::run(std::int64_t tokens) {
  const Variant *variant = plan().variantFor(tokens);
  if (!variant)
    fail(LAYLINE_BAD_ARGUMENT, "the plan runs [", plan_->tokens.min, ", ",
         plan_->tokens.max, "] tokens, not ", tokens);
  if (past_ < plan_->past.min || past_ > plan_->past.max)
    fail(LAYLINE_BAD_ARGUMENT, "past is ", past_, "; the plan allows [",
         plan_->past.min, ", ", plan_->past.max, "]");
  checkWeights();
  Environment environment;
  environment.tokens = tokens;
  environment.past = past_;
  std::vector<std::vector<std::int64_t>> inputs;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Input &input = plan_->inputs[i];
    if (!inputs_[i])
      fail(LAYLINE_NOT_BOUND, "input '", input.id, "' is not bound");
    std::int64_t expected = elements(globalShape(input.shape, environment));
    if (static_cast<std::int64_t>(inputs_[i]->size()) != expected)
      fail(LAYLINE_NOT_BOUND, "input '", input.id, "' is bound to ",
           inputs_[i]->size(), " elements; ", tokens, " tokens need ",
           expected);
    inputs.push_back(*inputs_[i]);
  }
  for (std::size_t c = 0; c < plan_->caches.size(); ++c)
    if (std::int64_t held = device_->cacheRows(static_cast<int>(c));
        held != past_)
      fail(LAYLINE_NOT_BOUND, "cache '", plan_->caches[c].id, "' holds ", held,
           " rows; past is ", past_);
  variant_ = nullptr;
  transport_->agree("run", hashOfRun(tokens, inputs));
  device_->run({variant, tokens, past_, &inputs,
                trace_.isRecording() ? &trace_ : nullptr});
  variant_ = variant;
  ranTokens_ = tokens;
  ranPast_ = past_;
  past_ += tokens;
}

std::uint64_t
Engine::hashOfRun(std::int64_t tokens,
                  const std::vector<std::vector<std::int64_t>> &inputs) const {
  std::uint64_t hash = combined(static_cast<std::uint64_t>(tokens),
                                static_cast<std::uint64_t>(past_));
  for (const std::vector<std::int64_t> &values : inputs)
    hash = hashOf(values.data(), values.size() * sizeof values[0], hash);
  return hash;
}

std::int64_t Engine::weightBytesRead() const {
  plan();
  return device_->weightBytesRead();
}

const Buffer &Engine::output(const std::string &id, int &index) const {
  plan();
  if (!variant_)
    fail(LAYLINE_NOT_BOUND, "no run has succeeded yet, or the last one failed");
  for (const Output &output : variant_->outputs)
    if (output.id == id) {
      index = output.buffer;
      return variant_->buffers[index];
    }
  fail(LAYLINE_BAD_ARGUMENT, "the plan has no output '", id, "'");
}

Environment Engine::lastRun() const {
  Environment environment;
  environment.tokens = ranTokens_;
  environment.past = ranPast_;
  return environment;
}

Shape Engine::outputShape(const std::string &id) const {
  int index = -1;
  return globalShape(output(id, index).shape, lastRun());
}

GlobalValue Engine::readOutput(const std::string &id,
                               const std::optional<Part> &rows) const {
  int index = -1;
  Shape shape = globalShape(output(id, index).shape, lastRun());
  if (rows && (shape.empty() || rows->begin < 0 || rows->size < 0 ||
               rows->size > shape[0] - rows->begin))
    fail(LAYLINE_BAD_ARGUMENT, "output '", id, "' has shape ", print(shape),
         "; ", rows->size, " rows from ", rows->begin, " on are asked for");
  return device_->readBuffer(index, rows);
}

const std::vector<Tap> &Engine::taps() const {
  static const std::vector<Tap> none;
  plan();
  return variant_ ? device_->taps() : none;
}

Shape Engine::tapShape(std::size_t index) const {
  return globalShape(taps()[index].operand.shape, lastRun());
}

} // namespace layline::runtime
