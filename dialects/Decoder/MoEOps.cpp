//===- MoEOps.cpp - router, experts and their biases ----------------------===//
#include "dialects/Decoder/Decoder.h"

using namespace mlir;
using namespace layline::decoder;
using namespace layline::grid;

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

void RouterOp::getFactors(FactorModel &model) {
  unsigned tokens = model.add(kTokens, FactorKind::PassThrough);
  unsigned experts = model.add("experts", FactorKind::NeedWhole);
  unsigned choice = model.add("choice", FactorKind::NeedWhole);
  model.operand({{tokens}, {experts}});
  if (getBias())
    model.operand({{experts}});
  model.result({{tokens}, {choice}});
  model.result({{tokens}, {choice}});
}

void ExpertsOp::getFactors(FactorModel &model) {
  unsigned tokens = model.add(kTokens, FactorKind::PassThrough);
  unsigned in = model.add("in", FactorKind::NeedWhole);
  unsigned choice = model.add("choice", FactorKind::NeedWhole);
  unsigned experts = model.add("experts", FactorKind::Reduction);
  unsigned features = model.add("features", FactorKind::Reduction);
  unsigned out = model.add("out", FactorKind::PassThrough);
  model.operand({{tokens}, {in}});
  model.operand({{tokens}, {choice}});
  model.operand({{tokens}, {choice}});
  model.operand({{experts}, {features}, {in}});
  model.operand({{experts}, {features}, {in}});
  model.operand({{experts}, {out}, {features}});
  for (unsigned i = 0, e = getBiases().size(); i < e; ++i)
    model.operand({{experts}, {features}});
  model.result({{tokens}, {out}});
  model.routing = {tokens, experts};
}
bool ExpertsOp::hasContraction() { return true; }

void AddExpertBiasOp::getFactors(FactorModel &model) {
  unsigned tokens = model.add(kTokens, FactorKind::PassThrough);
  unsigned features = model.add("features", FactorKind::PassThrough);
  unsigned choice = model.add("choice", FactorKind::NeedWhole);
  unsigned experts = model.add("experts", FactorKind::NeedWhole);
  model.operand({{tokens}, {features}});
  model.operand({{tokens}, {choice}});
  model.operand({{tokens}, {choice}});
  model.operand({{experts}, {features}});
  model.result({{tokens}, {features}});
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

static LogicalResult verifyGroups(RouterOp op, int64_t experts) {
  unsigned given = op.getGroups().has_value() +
                   op.getChosenGroups().has_value() +
                   op.getGroupScore().has_value();
  if (given == 0)
    return success();
  if (given != 3)
    return op.emitOpError("has some of groups, chosen_groups and group_score, "
                          "expected all or none");
  int64_t groups = *op.getGroups(), chosen = *op.getChosenGroups();
  if (groups < 1 || experts % groups)
    return op.emitOpError("has ")
           << experts << " experts in " << groups
           << " groups, expected groups that divide them";
  int64_t size = experts / groups, topK = op.getTopK();
  if (chosen < 1 || chosen > groups || chosen * size < topK)
    return op.emitOpError("takes the top ")
           << topK << " of " << chosen << " of " << groups << " groups of "
           << size << " experts";
  if (*op.getGroupScore() == GroupScore::Top2Sum && size < 2)
    return op.emitOpError("adds the two best of groups of 1 expert");
  return success();
}

LogicalResult RouterOp::verify() {
  int64_t experts = cast<RankedTensorType>(getLogits().getType()).getDimSize(1);
  int64_t topK = getTopK();
  int64_t width = cast<RankedTensorType>(getIds().getType()).getDimSize(1);
  if (topK < 1 || topK > experts)
    return emitOpError("takes the top ")
           << topK << " of " << experts << " experts";
  if (width != topK)
    return emitOpError("takes the top ")
           << topK << ", but its results have the width " << width;
  if (!std::isfinite(getScale().convertToDouble()))
    return emitOpError("has a scale that is not finite");
  return verifyGroups(*this, experts);
}

/// Routed rows come from one dispatch to these very experts, and go to one
/// combine.
static LogicalResult verifyRouting(ExpertsOp op) {
  auto input = cast<RankedTensorType>(op.getInput().getType());
  LayoutAttr layout = getLayout(input);
  SplitAttr rows = layout ? layout.getDims()[0] : SplitAttr();
  if (!rows || !rows.isRouted())
    return success();
  auto dispatch = op.getInput().getDefiningOp<DispatchOp>();
  if (!dispatch || op.getInput() != dispatch.getRouted() ||
      op.getIds() != dispatch.getRoutedIds() ||
      op.getWeights() != dispatch.getRoutedWeights()) {
    InFlightDiagnostic diag = op.emitOpError(
        "takes rows, ids and weights that are not those of one dispatch");
    if (dispatch)
      diag.attachNote(dispatch.getLoc()) << "its rows are dispatched here";
    return diag;
  }
  int64_t experts =
      cast<RankedTensorType>(op.getGate().getType()).getDimSize(0);
  if (static_cast<int64_t>(dispatch.getExperts()) != experts) {
    InFlightDiagnostic diag = op.emitOpError("has ")
                              << experts
                              << " experts, but its rows were dispatched to "
                              << dispatch.getExperts();
    diag.attachNote(dispatch.getLoc()) << "they are dispatched here";
    return diag;
  }
  for (Operation *reader : op.getResult().getUsers())
    if (!isa<CombineOp>(reader)) {
      InFlightDiagnostic diag =
          op.emitOpError("makes of dispatched rows what '")
          << reader->getName() << "' reads, expected 'grid.combine'";
      diag.attachNote(reader->getLoc()) << "read here";
      return diag;
    }
  return success();
}

LogicalResult ExpertsOp::verify() {
  if (failed(verifyRouting(*this)))
    return failure();
  if (size_t biases = getBiases().size(); biases != 0 && biases != 2)
    return emitOpError("has ")
           << biases << " bias, expected those of gate and of up, or none";
  double alpha = getAlpha().convertToDouble();
  if (!std::isfinite(alpha) || !std::isfinite(getUpOffset().convertToDouble()))
    return emitOpError("has an alpha or up_offset that is not finite");
  if (alpha != 1 && getFunction() != Activation::Silu)
    return emitOpError("has the alpha ")
           << alpha << " of " << stringifyActivation(getFunction())
           << ", which only silu has";
  if (!getLimit())
    return success();
  double limit = getLimit()->convertToDouble();
  if (!std::isfinite(limit) || limit <= 0)
    return emitOpError("has the limit ")
           << limit << ", expected a positive number";
  return success();
}
