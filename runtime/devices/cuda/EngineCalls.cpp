#include "devices/cuda/EngineCalls.h"

#include "devices/cuda/HostNumbers.h"
#include "devices/cuda/Steps.h"
#include "plan/Error.h"

#include <vector>

namespace layline::runtime::cuda {
namespace {

layline_dtype dtypeOf(BlasType type) {
  return type == BlasType::F16    ? LAYLINE_F16
         : type == BlasType::BF16 ? LAYLINE_BF16
                                  : LAYLINE_F32;
}

layline_dtype dtypeOf(NumberType type) {
  return type == NumberType::F16    ? LAYLINE_F16
         : type == NumberType::BF16 ? LAYLINE_BF16
                                    : LAYLINE_F32;
}

/// Asks `call`, which returns a status; what it fails with names the step.
template <typename Call>
bool ask(const Step &step, std::int64_t rank, Stream stream, const char *what,
         const Call &call) {
  HookMessage message = {};
  layline_call asked = callOf(step, rank, stream, message);
  try {
    return isDone(call(asked), message, what);
  } catch (const Error &error) {
    fail(error.status(), titleOf(step), " on rank ", rank, ": ", error.what());
  }
}

/// One type for all that a call names: it has one field for it.
layline_dtype dtypeOfAll(const RankView &rank, const Step &step) {
  NumberType type = rank.numbers(step.arg("query")).type;
  auto same = [&](const char *argument, NumberType other) {
    if (other != type)
      fail(LAYLINE_REFUSED_FEATURE,
           "device 'cuda' asks an engine for attention of one type; found the "
           "query in ",
           numberName(type), " and ", argument, " in ", numberName(other));
  };
  if (local::numberBytes(type) < 2)
    fail(LAYLINE_REFUSED_FEATURE,
         "device 'cuda' asks an engine for attention in 16 or 32 bits; found "
         "the query in ",
         numberName(type));
  same("the output", rank.numbers(step.arg("output")).type);
  same("keys", rank.pages(step.arg("keys")).rows.type);
  same("values", rank.pages(step.arg("values")).rows.type);
  if (const Operand *sinks = step.find("sinks"))
    same("sinks", rank.numbers(*sinks).type);
  return dtypeOf(type);
}

/// What is of one run, and outlives the call that it is described by.
struct AttentionOfRun {
  layline_attention_call call = {};
  std::vector<std::int32_t> keyHeads, valueHeads;
};

AttentionOfRun describe(const RankView &rank, const Step &step) {
  AttentionOfRun of;
  layline_attention_call &call = of.call;
  Shape query = rank.shape(step.arg("query"));
  call.size = sizeof(call);
  call.dtype = dtypeOfAll(rank, step);
  call.query_rows = query[0];
  call.key_rows = rank.run->past + rank.run->tokens;
  call.heads = query[1];
  call.width = query[2];
  call.value_width = rank.shape(step.arg("output"))[2];
  call.query = rank.numbers(step.arg("query")).data;
  call.output = rank.numbers(step.arg("output")).data;
  auto rowsOf = [&](const char *argument) {
    return rank.caches[step.arg(argument).index].place();
  };
  call.keys = rowsOf("keys");
  call.values = rowsOf("values");
  call.key_position_pages = rowsOf("key_positions");
  const CacheRows &positions = rank.caches[step.arg("key_positions").index];
  if (!positions.hooks)
    call.key_positions =
        static_cast<const std::int64_t *>(call.key_position_pages.base);
  call.positions = rank.integers(step.arg("positions"));
  std::int64_t perKeyHead = step.attrs.heads / step.attrs.kvHeads,
               firstHead = rank.begin(step.arg("query"), 1),
               firstKeyHead = rank.begin(step.arg("keys"), 1),
               firstValueHead = rank.begin(step.arg("values"), 1);
  for (std::int64_t h = firstHead; h < firstHead + call.heads; ++h) {
    of.keyHeads.push_back(
        static_cast<std::int32_t>(h / perKeyHead - firstKeyHead));
    of.valueHeads.push_back(
        static_cast<std::int32_t>(h / perKeyHead - firstValueHead));
  }
  call.scale = step.attrs.scale;
  call.causal = step.attrs.causal ? 1 : 0;
  call.window = step.attrs.window.value_or(0);
  call.softcap = step.attrs.softcap.value_or(0);
  if (const Operand *sinks = step.find("sinks"))
    call.sinks = rank.numbers(*sinks).data;
  return of;
}

} // namespace

bool multiplyByEngine(const Hooks &hooks, const Plan &plan,
                      const Command &command, Stream stream) {
  const Product &product = command.product;
  // cuBLASLt knows what to do without rows; engines need not.
  if (!hooks.gemm || product.rows == 0 || product.in == 0 || product.out == 0)
    return false;
  const Step &step = *command.step;
  layline_gemm_call gemm = {};
  gemm.size = sizeof(gemm);
  gemm.m = product.rows;
  gemm.n = product.out;
  gemm.k = product.in;
  gemm.a_dtype = gemm.b_dtype = dtypeOf(product.inputType);
  gemm.c_dtype = dtypeOf(product.outputType);
  gemm.a = reinterpret_cast<const void *>(command.input);
  gemm.lda = product.in;
  gemm.b = reinterpret_cast<const void *>(command.weight);
  gemm.ldb = product.in;
  gemm.transpose_b = 1;
  gemm.c = reinterpret_cast<void *>(command.output);
  gemm.ldc = product.out;
  gemm.alpha = 1;
  gemm.weight = plan.weights[step.arg("weight").index].key.c_str();
  gemm.expert = -1;
  return ask(step, command.rank, stream, "the engine's GEMM function",
             [&](const layline_call &call) {
               gemm.call = &call;
               return hooks.gemm(hooks.gemmUser, &gemm);
             });
}

std::function<bool(Stream)>
attentionByEngine(const Hooks &hooks, const RankView &rank, const Step &step) {
  return [&hooks, &step, number = rank.rank,
          of = describe(rank, step)](Stream stream) {
    layline_attention_call attention = of.call;
    attention.key_head = of.keyHeads.data();
    attention.value_head = of.valueHeads.data();
    return ask(step, number, stream, "the engine's attention function",
               [&](const layline_call &call) {
                 attention.call = &call;
                 return hooks.attention(hooks.attentionUser, &attention);
               });
  };
}

} // namespace layline::runtime::cuda
