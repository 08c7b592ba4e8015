//===- StepTable.cpp - which kind of step an op becomes -------------------===//
//
// The one table from ops to steps: beyond it nothing asks for an op's name.
//
//===----------------------------------------------------------------------===//
#include "StepTable.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace layline;
using launch::StepKind;

namespace {

class SpecBuilder {
public:
  SpecBuilder(Operation *op, PlanTables &tables)
      : op(op), tables(tables), builder(op->getContext()) {}

  SpecBuilder &kind(StepKind kind) {
    spec.kind = kind;
    return *this;
  }
  /// An absent optional operand has no role.
  SpecBuilder &with(StringRef role, Value value) {
    if (value)
      spec.targets.push_back({role, value, {}});
    return *this;
  }
  SpecBuilder &with(StringRef role, FlatSymbolRefAttr symbol) {
    spec.targets.push_back({role, {}, symbol});
    return *this;
  }
  SpecBuilder &attr(StringRef name, Attribute value) {
    spec.attrs.push_back(builder.getNamedAttr(name, value));
    return *this;
  }
  SpecBuilder &attr(StringRef name, StringRef text) {
    return attr(name, Attribute(builder.getStringAttr(text)));
  }
  SpecBuilder &attr(StringRef name, int64_t value) {
    return attr(name, Attribute(builder.getI64IntegerAttr(value)));
  }
  SpecBuilder &attr(StringRef name, FailureOr<FlatSymbolRefAttr> symbol) {
    if (failed(symbol)) {
      isBad = true;
      return *this;
    }
    return attr(name, Attribute(*symbol));
  }
  SpecBuilder &group() {
    auto edge = cast<grid::CommEdgeOpInterface>(op);
    FailureOr<FlatSymbolRefAttr> group =
        tables.getGroup(op->getLoc(), edge.getGroupAxes());
    if (succeeded(group))
      spec.group = *group;
    return attr("group", group);
  }
  /// The dimension that changes hands, by the layout of the side that splits
  /// it.
  SpecBuilder &range(Value split, uint64_t dim) {
    return attr("dim", static_cast<int64_t>(dim)).rangeOf(split, dim);
  }
  /// How rows are split that are sent one by one.
  SpecBuilder &rowRange(Value split) { return rangeOf(split, 0); }

  FailureOr<StepSpec> take() {
    if (isBad)
      return failure();
    return std::move(spec);
  }

private:
  SpecBuilder &rangeOf(Value split, uint64_t dim) {
    auto tensor = cast<RankedTensorType>(split.getType());
    return attr("range", tables.getRange(op->getLoc(),
                                         grid::getLayout(tensor).getDims()[dim],
                                         tensor.getDimSize(dim)));
  }

  Operation *op;
  PlanTables &tables;
  Builder builder;
  StepSpec spec;
  bool isBad = false;
};

} // namespace

static int64_t getDim(Value value, unsigned dim) {
  return cast<RankedTensorType>(value.getType()).getDimSize(dim);
}

FailureOr<StepSpec> layline::getStepSpec(Operation *op, PlanTables &tables) {
  using namespace layline::decoder;
  SpecBuilder s(op, tables);
  Builder builder(op->getContext());
  bool isKnown =
      llvm::TypeSwitch<Operation *, bool>(op)
          .Case([&](EmbeddingOp op) {
            s.kind(StepKind::Embedding)
                .with("ids", op.getIds())
                .with("weight", op.getTable())
                .with("output", op.getResult());
            return true;
          })
          .Case([&](NormOp op) {
            s.kind(StepKind::Norm)
                .with("input", op.getInput())
                .with("weight", op.getWeight())
                .with("bias", op.getBias())
                .with("output", op.getResult())
                .attr("norm", stringifyNormKind(op.getKind()))
                .attr("eps", op.getEpsAttr())
                .attr("weight_offset", op.getWeightOffsetAttr());
            return true;
          })
          .Case([&](RowSquaresOp op) {
            s.kind(StepKind::RowSquares)
                .with("input", op.getInput())
                .with("output", op.getResult());
            return true;
          })
          .Case([&](NormByOp op) {
            s.kind(StepKind::NormBy)
                .with("input", op.getInput())
                .with("statistics", op.getStatistics())
                .with("weight", op.getWeight())
                .with("output", op.getResult())
                .attr("eps", op.getEpsAttr())
                .attr("width", static_cast<int64_t>(op.getWidth()));
            return true;
          })
          .Case([&](LinearOp op) {
            s.kind(StepKind::Linear)
                .with("input", op.getInput())
                .with("weight", op.getWeight())
                .with("bias", op.getBias())
                .with("output", op.getResult());
            return true;
          })
          .Case([&](LogitsOp op) {
            s.kind(StepKind::Linear)
                .with("input", op.getInput())
                .with("weight", op.getWeight())
                .with("output", op.getResult());
            return true;
          })
          .Case([&](RopeOp op) {
            s.kind(StepKind::Rope)
                .with("input", op.getInput())
                .with("positions", op.getPositions())
                .with("table", tables.getTable(op.getLoc(), op.getTable()))
                .with("output", op.getResult())
                .attr("style", stringifyRopeStyle(op.getStyle()))
                .attr("rotary", 2 * static_cast<int64_t>(
                                        op.getTable().getInvFreq().size()));
            return true;
          })
          .Case([&](CacheOp op) {
            s.kind(StepKind::CacheAppend)
                .with("input", op.getRows())
                .with("cache", op.getResult());
            return true;
          })
          .Case([&](AttentionOp op) {
            s.kind(StepKind::Attention)
                .with("query", op.getQuery())
                .with("keys", op.getKeys())
                .with("values", op.getValues())
                .with("positions", op.getPositions())
                .with("key_positions", op.getKeyPositions())
                .with("sinks", op.getSinks())
                .with("output", op.getResult())
                .attr("scale", op.getScaleAttr())
                .attr("causal", op.getCausalAttr());
            if (op.getWindow())
              s.attr("window", op.getWindowAttr());
            if (op.getSoftcap())
              s.attr("softcap", op.getSoftcapAttr());
            s.attr("heads", getDim(op.getQuery(), 1))
                .attr("kv_heads", getDim(op.getKeys(), 1));
            return true;
          })
          .Case([&](LatentAttentionOp op) {
            s.kind(StepKind::LatentAttention)
                .with("query_nope", op.getQueryNope())
                .with("query_rope", op.getQueryRope())
                .with("latent", op.getLatent())
                .with("rope_key", op.getRopeKey())
                .with("key_up", op.getKeyUp())
                .with("value_up", op.getValueUp())
                .with("positions", op.getPositions())
                .with("key_positions", op.getKeyPositions())
                .with("selection", op.getSelection())
                .with("output", op.getResult())
                .attr("scale", op.getScaleAttr())
                .attr("causal", op.getCausalAttr())
                .attr("heads", getDim(op.getQueryNope(), 1));
            return true;
          })
          .Case([&](IndexerOp op) {
            s.kind(StepKind::Indexer)
                .with("query", op.getQuery())
                .with("keys", op.getKeys())
                .with("weights", op.getWeights())
                .with("positions", op.getPositions())
                .with("key_positions", op.getKeyPositions())
                .with("selection", op.getSelection())
                .with("scores", op.getScores())
                .attr("top_k", op.getTopKAttr())
                .attr("scale", op.getScaleAttr())
                .attr("causal", op.getCausalAttr());
            return true;
          })
          .Case([&](ActivationOp op) {
            s.kind(StepKind::Activation)
                .with("input", op.getInput())
                .with("output", op.getResult())
                .attr("function", stringifyActivation(op.getFunction()));
            return true;
          })
          .Case([&](GatedActivationOp op) {
            s.kind(StepKind::GatedActivation)
                .with("gate", op.getGate())
                .with("up", op.getUp())
                .with("output", op.getResult())
                .attr("function", stringifyActivation(op.getFunction()));
            return true;
          })
          .Case([&](RouterOp op) {
            s.kind(StepKind::Router)
                .with("logits", op.getLogits())
                .with("bias", op.getBias())
                .with("ids", op.getIds())
                .with("weights", op.getWeights())
                .attr("top_k", op.getTopKAttr())
                .attr("scoring", stringifyScoring(op.getScoring()))
                .attr("renormalize", op.getRenormalizeAttr())
                .attr("scale", op.getScaleAttr());
            if (op.getGroups())
              s.attr("groups", op.getGroupsAttr())
                  .attr("chosen_groups", op.getChosenGroupsAttr())
                  .attr("group_score",
                        stringifyGroupScore(*op.getGroupScore()));
            return true;
          })
          .Case([&](ExpertsOp op) {
            s.kind(StepKind::Experts)
                .with("input", op.getInput())
                .with("ids", op.getIds())
                .with("weights", op.getWeights())
                .with("gate", op.getGate())
                .with("up", op.getUp())
                .with("down", op.getDown())
                .with("gate_bias", op.getGateBias())
                .with("up_bias", op.getUpBias())
                .with("output", op.getResult())
                .attr("function", stringifyActivation(op.getFunction()));
            // What is not there is as in format 1.0.
            if (op.getLimit())
              s.attr("limit", op.getLimitAttr());
            if (!op.getAlpha().isExactlyValue(1.0))
              s.attr("alpha", op.getAlphaAttr());
            if (!op.getUpOffset().isZero())
              s.attr("up_offset", op.getUpOffsetAttr());
            return true;
          })
          .Case([&](AddExpertBiasOp op) {
            s.kind(StepKind::AddExpertBias)
                .with("input", op.getInput())
                .with("ids", op.getIds())
                .with("weights", op.getWeights())
                .with("bias", op.getBias())
                .with("output", op.getResult());
            return true;
          })
          .Case([&](AddOp op) {
            s.kind(StepKind::Add)
                .with("inputs", op.getLhs())
                .with("inputs", op.getRhs())
                .with("output", op.getResult());
            return true;
          })
          .Case([&](AddBiasOp op) {
            s.kind(StepKind::AddBias)
                .with("input", op.getInput())
                .with("bias", op.getBias())
                .with("output", op.getResult());
            return true;
          })
          .Case([&](ScaleOp op) {
            s.kind(StepKind::Scale)
                .with("input", op.getInput())
                .with("output", op.getResult())
                .attr("factor", op.getFactorAttr());
            return true;
          })
          .Case([&](SoftcapOp op) {
            s.kind(StepKind::Softcap)
                .with("input", op.getInput())
                .with("output", op.getResult())
                .attr("cap", op.getCapAttr());
            return true;
          })
          .Case([&](CastOp op) {
            s.kind(StepKind::Cast)
                .with("input", op.getInput())
                .with("output", op.getResult());
            return true;
          })
          .Case([&](QuantizeOp op) {
            s.kind(StepKind::Quantize)
                .with("input", op.getInput())
                .with("values", op.getValues())
                .with("scales", op.getScales())
                .attr("format", stringifyQuantFormat(op.getFormat()));
            if (op.getGroupSize())
              s.attr("group_size", op.getGroupSizeAttr());
            return true;
          })
          .Case([&](DequantizeOp op) {
            s.kind(StepKind::Dequantize)
                .with("values", op.getValues())
                .with("scales", op.getScales())
                .with("output", op.getResult());
            return true;
          })
          .Case([&](SliceColumnsOp op) {
            s.kind(StepKind::SliceColumns)
                .with("input", op.getInput())
                .with("output", op.getResult())
                .attr("begin", op.getBeginAttr());
            return true;
          })
          .Case([&](ConcatColumnsOp op) {
            s.kind(StepKind::ConcatColumns);
            for (Value input : op.getInputs())
              s.with("inputs", input);
            s.with("output", op.getResult());
            return true;
          })
          .Case([&](RowScaleOp op) {
            s.kind(StepKind::RowScale)
                .with("input", op.getInput())
                .with("scales", op.getScales())
                .with("output", op.getResult());
            return true;
          })
          .Case([&](grid::SliceOp op) {
            s.kind(StepKind::Slice)
                .with("input", op.getInput())
                .with("output", op.getResult())
                .range(op.getResult(), op.getDim());
            return true;
          })
          .Case([&](grid::AllReduceOp op) {
            s.kind(StepKind::AllReduce)
                .with("input", op.getInput())
                .with("output", op.getResult())
                .group();
            return true;
          })
          .Case([&](grid::ReduceScatterOp op) {
            s.kind(StepKind::ReduceScatter)
                .with("input", op.getInput())
                .with("output", op.getResult())
                .group()
                .range(op.getResult(), op.getDim());
            return true;
          })
          .Case([&](grid::AllGatherOp op) {
            s.kind(StepKind::AllGather)
                .with("input", op.getInput())
                .with("output", op.getResult())
                .group()
                .range(op.getInput(), op.getDim());
            return true;
          })
          .Case([&](grid::BroadcastOp op) {
            s.kind(StepKind::Broadcast)
                .with("input", op.getInput())
                .with("output", op.getResult())
                .group()
                .attr("root", static_cast<int64_t>(op.getRoot()));
            return true;
          })
          .Case([&](grid::DispatchOp op) {
            s.kind(StepKind::Dispatch)
                .with("input", op.getInput())
                .with("ids", op.getIds())
                .with("weights", op.getWeights())
                .with("output", op.getRouted())
                .with("output_ids", op.getRoutedIds())
                .with("output_weights", op.getRoutedWeights())
                .group()
                .rowRange(op.getInput())
                .attr("experts", static_cast<int64_t>(op.getExperts()));
            return true;
          })
          .Case([&](grid::CombineOp op) {
            grid::SplitAttr routed =
                grid::getLayout(op.getInput().getType()).getDims()[0];
            s.kind(StepKind::Combine)
                .with("input", op.getInput())
                .with("ids", op.getIds())
                .with("output", op.getResult())
                .group()
                .rowRange(op.getResult())
                .attr("experts", routed.getChain().back().getArgument());
            return true;
          })
          .Default([](Operation *) { return false; });
  if (!isKnown)
    return op->emitOpError("is no step of plan format 1");
  return s.take();
}
