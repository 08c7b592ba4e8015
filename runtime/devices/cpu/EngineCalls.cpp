#include "devices/cpu/EngineCalls.h"

#include "devices/cpu/Blas.h"

#include <type_traits>

namespace layline::runtime {
namespace {

template <typename T>
constexpr layline_dtype kDType =
    std::is_same_v<T, float> ? LAYLINE_F32 : LAYLINE_F64;

template <typename T>
layline_call callOf(const RankContext<T> &context, const Step &step,
                    HookMessage &message) {
  const Hooks &hooks = *context.run->hooks;
  void *stream = hooks.streams.empty()
                     ? nullptr
                     : hooks.streams[static_cast<std::size_t>(context.rank)]
                                    [static_cast<std::size_t>(step.stream)];
  return runtime::callOf(step, context.rank, stream, message);
}

template <typename T>
bool multiplyByEngine(const RankContext<T> &context, const Step &step,
                      const WeightProduct<T> &product) {
  const Hooks &hooks = *context.run->hooks;
  // BLAS knows what to do without rows; engines need not.
  if (!hooks.gemm || product.m == 0 || product.n == 0 || product.k == 0)
    return false;
  HookMessage message = {};
  layline_call call = callOf(context, step, message);
  const Weight &weight = context.run->plan->weights[product.weight.index];
  layline_gemm_call gemm = {};
  gemm.size = sizeof(gemm);
  gemm.call = &call;
  gemm.m = product.m;
  gemm.n = product.n;
  gemm.k = product.k;
  gemm.a_dtype = gemm.b_dtype = gemm.c_dtype = kDType<T>;
  gemm.a = product.a;
  gemm.lda = product.k;
  gemm.b = product.w;
  gemm.ldb = product.k;
  gemm.transpose_b = 1;
  gemm.c = product.c;
  gemm.ldc = product.n;
  gemm.alpha = 1;
  gemm.weight = weight.key.c_str();
  gemm.expert = product.expert;
  return isDone(hooks.gemm(hooks.gemmUser, &gemm), message,
                "the engine's GEMM function");
}

} // namespace

template <typename T>
void multiplyWeight(const RankContext<T> &context, const Step &step,
                    const WeightProduct<T> &product) {
  if (!multiplyByEngine(context, step, product))
    multiplyTransposed(product.m, product.n, product.k, 1.0, product.a,
                       product.k, product.w, product.k, product.c, product.n);
}

template <typename T>
bool attendByEngine(RankContext<T> &context, const Step &step) {
  const Hooks &hooks = *context.run->hooks;
  if (!hooks.attention)
    return false;
  auto query = context.floats(step.arg("query"));
  auto output = context.floats(step.arg("output"));
  std::int64_t heads = query.dim(1);
  if (query.dim(0) == 0 || heads == 0)
    return false;
  const CacheStore &keys = context.cache(step.arg("keys"));
  const CacheStore &values = context.cache(step.arg("values"));
  std::int64_t perKeyHead = step.attrs.heads / step.attrs.kvHeads,
               firstHead = context.begin(step.arg("query"), 1),
               firstKeyHead = context.begin(step.arg("keys"), 1),
               firstValueHead = context.begin(step.arg("values"), 1);
  std::vector<std::int32_t> &keyHeads = context.scratch.keyHeads,
                            &valueHeads = context.scratch.valueHeads;
  keyHeads.clear();
  valueHeads.clear();
  for (std::int64_t h = firstHead; h < firstHead + heads; ++h) {
    keyHeads.push_back(
        static_cast<std::int32_t>(h / perKeyHead - firstKeyHead));
    valueHeads.push_back(
        static_cast<std::int32_t>(h / perKeyHead - firstValueHead));
  }
  HookMessage message = {};
  layline_call call = callOf(context, step, message);
  layline_attention_call attention = {};
  attention.size = sizeof(attention);
  attention.call = &call;
  attention.dtype = kDType<T>;
  attention.query_rows = query.dim(0);
  attention.key_rows = keys.rows();
  attention.heads = heads;
  attention.width = query.dim(2);
  attention.value_width = output.dim(2);
  attention.query = query.data;
  attention.output = output.data;
  attention.keys = keys.pages(context.scratch.keys);
  attention.values = values.pages(context.scratch.values);
  attention.key_head = keyHeads.data();
  attention.value_head = valueHeads.data();
  attention.positions = context.integers(step.arg("positions")).data;
  const CacheStore &keyPositions = context.cache(step.arg("key_positions"));
  attention.key_positions = keyPositions.dense(context.scratch.keyPositions);
  attention.key_position_pages =
      keyPositions.pages(context.scratch.keyPositions);
  attention.scale = step.attrs.scale;
  attention.causal = step.attrs.causal ? 1 : 0;
  attention.window = step.attrs.window.value_or(0);
  attention.softcap = step.attrs.softcap.value_or(0);
  if (const Operand *sinks = step.find("sinks"))
    attention.sinks = context.weight(*sinks).data;
  return isDone(hooks.attention(hooks.attentionUser, &attention), message,
                "the engine's attention function");
}

template void multiplyWeight<float>(const RankContext<float> &, const Step &,
                                    const WeightProduct<float> &);
template void multiplyWeight<double>(const RankContext<double> &, const Step &,
                                     const WeightProduct<double> &);
template bool attendByEngine<float>(RankContext<float> &, const Step &);
template bool attendByEngine<double>(RankContext<double> &, const Step &);

} // namespace layline::runtime
