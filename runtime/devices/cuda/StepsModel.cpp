// What an engine may bring its own kernels for: products, attention, experts.
#include "devices/cuda/EngineCalls.h"
#include "devices/cuda/Steps.h"

#include "plan/Error.h"

namespace layline::runtime::cuda {
namespace {

BlasType blasType(NumberType type) {
  switch (type) {
  case NumberType::F32:
    return BlasType::F32;
  case NumberType::F16:
    return BlasType::F16;
  case NumberType::BF16:
    return BlasType::BF16;
  default:
    fail(LAYLINE_INTERNAL, "a product of 8-bit numbers");
  }
}

Address at(const Numbers &numbers) {
  return reinterpret_cast<Address>(numbers.data);
}

/// The numbers in the wanted type: themselves, or a copy in scratch memory.
/// cuBLASLt's products take operands of one type.
struct Converted {
  std::vector<Numbers> ofRank;
};
Converted converted(ProgramBuilder &builder, const Operand &operand,
                    const std::vector<NumberType> &wanted) {
  Converted result;
  bool areAll = true;
  for (const RankView &rank : builder.ranks()) {
    result.ofRank.push_back(rank.numbers(operand));
    areAll =
        areAll && result.ofRank.back().type == wanted[result.ofRank.size() - 1];
  }
  if (areAll)
    return result;
  for (const RankView &rank : builder.ranks()) {
    std::size_t r = rank.place;
    std::int64_t count = elements(rank.shape(operand));
    result.ofRank[r] = {reinterpret_cast<void *>(builder.scratch(
                            rank, static_cast<std::size_t>(
                                      count * local::numberBytes(wanted[r])))),
                        wanted[r]};
  }
  builder.kernel<local::ElementwiseParams>(
      "layline_elementwise",
      [&](const RankView &rank, local::ElementwiseParams &p) {
        p.op = local::ElementwiseOp::Scale;
        p.inputs[0] = rank.numbers(operand);
        p.output = result.ofRank[rank.place];
        p.count = elements(rank.shape(operand));
        return blocksForElements(p.count);
      });
  return result;
}

} // namespace

void addLinear(ProgramBuilder &builder, const Step &step) {
  const Operand &input = step.arg("input"), &weight = step.arg("weight"),
                &output = step.arg("output");
  std::vector<NumberType> types;
  for (const RankView &rank : builder.ranks())
    types.push_back(rank.numbers(weight).type);
  Converted rows = converted(builder, input, types);
  for (const RankView &rank : builder.ranks()) {
    Shape shape = rank.shape(weight);
    Product product;
    product.rows = rowsOf(rank.shape(output));
    product.in = shape[1];
    product.out = shape[0];
    const Numbers &from = rows.ofRank[rank.place];
    Numbers to = rank.numbers(output);
    product.inputType = blasType(from.type);
    product.outputType = blasType(to.type);
    builder.product(rank, step, product, at(from), at(rank.numbers(weight)),
                    at(to));
  }
  const Operand *bias = step.find("bias");
  if (!bias)
    return;
  builder.kernel<local::ElementwiseParams>(
      "layline_elementwise",
      [&](const RankView &rank, local::ElementwiseParams &p) {
        p.op = local::ElementwiseOp::AddColumn;
        p.inputCount = 2;
        p.inputs[0] = rank.numbers(output);
        p.inputs[1] = rank.numbers(*bias);
        p.output = p.inputs[0];
        Shape shape = rank.shape(output);
        p.count = elements(shape);
        p.width = rank.shape(weight)[0];
        return blocksForElements(p.count);
      });
}

namespace {

/// Returns the blocks that there is work for.
std::int64_t fill(ProgramBuilder &builder, const RankView &rank,
                  const Step &step, local::AttentionParams &p) {
  Shape query = rank.shape(step.arg("query"));
  p.query = rank.numbers(step.arg("query"));
  p.output = rank.numbers(step.arg("output"));
  p.keys = rank.pages(step.arg("keys"));
  p.values = rank.pages(step.arg("values"));
  if (const Operand *sinks = step.find("sinks"))
    p.sinks = rank.numbers(*sinks);
  p.positions = rank.integers(step.arg("positions"));
  p.keyPositions = rank.pages(step.arg("key_positions"));
  p.rows = query[0];
  p.heads = query[1];
  p.width = query[2];
  p.valueWidth = rank.shape(step.arg("output"))[2];
  p.keyRows = rank.run->past + rank.run->tokens;
  p.headsPerKeyHead = step.attrs.heads / step.attrs.kvHeads;
  p.firstHead = rank.begin(step.arg("query"), 1);
  p.firstKeyHead = rank.begin(step.arg("keys"), 1);
  p.firstValueHead = rank.begin(step.arg("values"), 1);
  p.scale = static_cast<float>(step.attrs.scale);
  p.softcap = static_cast<float>(step.attrs.softcap.value_or(0));
  p.window = step.attrs.window.value_or(0);
  p.causal = step.attrs.causal;
  p.fault = builder.faultPlace(rank);
  return p.rows * p.heads;
}

} // namespace

void addAttention(ProgramBuilder &builder, const Step &step) {
  constexpr const char *kSymbol = "layline_attention";
  auto params = [&](const RankView &rank, local::AttentionParams &p) {
    return fill(builder, rank, step, p);
  };
  const Hooks *hooks = builder.run().hooks;
  if (!hooks || !hooks->attention)
    return builder.kernel<local::AttentionParams>(kSymbol, params);
  // Each rank is asked for by itself, and may be declined by itself.
  for (const RankView &rank : builder.ranks())
    builder.engine<local::AttentionParams>(
        rank, kSymbol, attentionByEngine(*hooks, rank, step), params);
}

void addLatentAttention(ProgramBuilder &builder, const Step &step) {
  builder.kernel<local::LatentAttentionParams>(
      "layline_latent_attention",
      [&](const RankView &rank, local::LatentAttentionParams &p) {
        Shape nope = rank.shape(step.arg("query_nope"));
        p.nope = rank.numbers(step.arg("query_nope"));
        p.rope = rank.numbers(step.arg("query_rope"));
        p.latent = rank.pages(step.arg("latent"));
        p.ropeKey = rank.pages(step.arg("rope_key"));
        p.keyUp = rank.numbers(step.arg("key_up"));
        p.valueUp = rank.numbers(step.arg("value_up"));
        p.output = rank.numbers(step.arg("output"));
        p.positions = rank.integers(step.arg("positions"));
        p.keyPositions = rank.pages(step.arg("key_positions"));
        if (const Operand *selection = step.find("selection")) {
          p.selection = rank.integers(*selection);
          p.selected = rank.shape(*selection).back();
        }
        p.rows = nope[0];
        p.heads = nope[1];
        p.width = nope[2];
        p.rotary = rank.shape(step.arg("query_rope"))[2];
        p.valueWidth = rank.shape(step.arg("output"))[2];
        p.latentWidth = rank.shape(step.arg("key_up"))[1];
        p.keyRows = rank.run->past + rank.run->tokens;
        p.scale = static_cast<float>(step.attrs.scale);
        p.causal = step.attrs.causal;
        p.fault = builder.faultPlace(rank);
        return p.rows * p.heads;
      });
}

void addIndexer(ProgramBuilder &builder, const Step &step) {
  builder.kernel<local::IndexerParams>(
      "layline_indexer", [&](const RankView &rank, local::IndexerParams &p) {
        Shape query = rank.shape(step.arg("query"));
        p.query = rank.numbers(step.arg("query"));
        p.keys = rank.pages(step.arg("keys"));
        p.weights = rank.numbers(step.arg("weights"));
        p.positions = rank.integers(step.arg("positions"));
        p.keyPositions = rank.pages(step.arg("key_positions"));
        p.selection = rank.integers(step.arg("selection"));
        p.scores = rank.numbers(step.arg("scores"));
        p.rows = query[0];
        p.heads = query[1];
        p.width = query[2];
        p.keyRows = rank.run->past + rank.run->tokens;
        p.topK = step.attrs.topK;
        // By rows, never by keys: a program is for every past.
        auto best = static_cast<std::size_t>(2 * p.rows * p.topK);
        p.bestScores = reinterpret_cast<float *>(
            builder.scratch(rank, best * sizeof(float)));
        p.bestKeys = reinterpret_cast<std::int64_t *>(
            builder.scratch(rank, best * sizeof(std::int64_t)));
        p.scale = static_cast<float>(step.attrs.scale);
        p.causal = step.attrs.causal;
        p.fault = builder.faultPlace(rank);
        return p.rows;
      });
}

void addRouter(ProgramBuilder &builder, const Step &step) {
  builder.kernel<local::RouterParams>(
      "layline_router", [&](const RankView &rank, local::RouterParams &p) {
        Shape logits = rank.shape(step.arg("logits"));
        p.logits = rank.numbers(step.arg("logits"));
        if (const Operand *bias = step.find("bias"))
          p.bias = rank.numbers(*bias);
        p.ids = rank.integers(step.arg("ids"));
        p.weights = rank.numbers(step.arg("weights"));
        p.rows = logits[0];
        p.experts = logits.back();
        p.topK = step.attrs.topK;
        p.groups = step.attrs.groups;
        p.chosenGroups = step.attrs.chosenGroups;
        p.sigmoid = step.attrs.scoring == Scoring::Sigmoid;
        p.renormalize = step.attrs.renormalize;
        p.top2Sum = step.attrs.groupScore == GroupScore::Top2Sum;
        p.scale = static_cast<float>(step.attrs.scale);
        p.fault = builder.faultPlace(rank);
        return p.rows;
      });
}

void setExperts(const RankView &rank, const Step &step,
                local::ExpertWeights &p) {
  Shape gate = rank.shape(step.arg("gate"));
  p.gate = rank.numbers(step.arg("gate"));
  p.up = rank.numbers(step.arg("up"));
  p.down = rank.numbers(step.arg("down"));
  if (step.find("gate_bias")) {
    p.gateBias = rank.numbers(step.arg("gate_bias"));
    p.upBias = rank.numbers(step.arg("up_bias"));
  }
  p.held = gate[0];
  p.inner = gate[1];
  p.in = gate[2];
  p.out = rank.shape(step.arg("down"))[1];
  p.function = functionFor(step.attrs.function);
  p.limit = static_cast<float>(step.attrs.limit.value_or(0));
  p.alpha = static_cast<float>(step.attrs.alpha);
  p.upOffset = static_cast<float>(step.attrs.upOffset);
}

void addExperts(ProgramBuilder &builder, const Step &step) {
  builder.kernel<local::ExpertsParams>(
      "layline_experts", [&](const RankView &rank, local::ExpertsParams &p) {
        setExperts(rank, step, p);
        Shape ids = rank.shape(step.arg("ids"));
        p.input = rank.numbers(step.arg("input"));
        p.ids = rank.integers(step.arg("ids"));
        p.weights = rank.numbers(step.arg("weights"));
        p.output = rank.numbers(step.arg("output"));
        p.rows = ids[0];
        p.slots = ids.back();
        p.first = rank.begin(step.arg("gate"), 0);
        p.experts = step.arg("gate").shape[0].value;
        p.scratch = reinterpret_cast<float *>(builder.scratch(
            rank, static_cast<std::size_t>(p.rows * p.inner) * sizeof(float)));
        p.isRouted = rank.isRouted(step.arg("input"));
        p.fault = builder.faultPlace(rank);
        return p.rows;
      });
}

void addExpertBias(ProgramBuilder &builder, const Step &step) {
  builder.kernel<local::ExpertBiasParams>(
      "layline_expert_bias",
      [&](const RankView &rank, local::ExpertBiasParams &p) {
        Shape ids = rank.shape(step.arg("ids"));
        p.input = rank.numbers(step.arg("input"));
        p.output = rank.numbers(step.arg("output"));
        p.ids = rank.integers(step.arg("ids"));
        p.weights = rank.numbers(step.arg("weights"));
        p.bias = rank.numbers(step.arg("bias"));
        p.rows = ids[0];
        p.slots = ids.back();
        p.width = rank.shape(step.arg("output")).back();
        p.experts = rank.shape(step.arg("bias"))[0];
        p.fault = builder.faultPlace(rank);
        return p.rows;
      });
}

} // namespace layline::runtime::cuda
