//===- DecoderFactors.cpp - factor models and interfaces of decoder ops ---===//
//
// What each op may do with a split value or an owed sum. All layout rules
// follow from these few lines.
//
//===----------------------------------------------------------------------===//
#include "dialects/Decoder/Decoder.h"

using namespace mlir;
using namespace layline::decoder;
using namespace layline::grid;

static RankedTensorType tensor(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Binds operands and results of one shape, dimension by dimension: tokens,
/// then factors that pass through.
static void getElementwiseFactors(Operation *op, FactorModel &model,
                                  StringRef last) {
  // A value without rows is not expected: the shapes are then found wrong.
  int64_t rank = std::max<int64_t>(1, tensor(op->getResult(0)).getRank());
  SmallVector<DimFactor, 3> dims;
  for (int64_t dim = 0; dim < rank; ++dim)
    dims.push_back({model.add(dim == 0          ? StringRef(kTokens)
                              : dim + 1 == rank ? last
                                                : StringRef("heads"),
                              FactorKind::PassThrough)});
  for (unsigned i = 0, e = op->getNumOperands(); i < e; ++i)
    model.operand(dims);
  model.result(dims);
}

void WeightOp::getFactors(FactorModel &model) {
  SmallVector<DimFactor, 3> dims;
  for (int64_t dim = 0, e = tensor(getResult()).getRank(); dim < e; ++dim)
    dims.push_back({model.add("dimension", FactorKind::PassThrough)});
  model.result(dims);
}

void EmbeddingOp::getFactors(FactorModel &model) {
  unsigned tokens = model.add(kTokens, FactorKind::PassThrough);
  // A look-up is a product with one-hot rows: it sums over the vocabulary.
  unsigned vocabulary = model.add("vocabulary", FactorKind::Reduction);
  unsigned hidden = model.add("hidden", FactorKind::PassThrough);
  model.operand({{tokens}});
  model.operand({{vocabulary}, {hidden}});
  model.result({{tokens}, {hidden}});
}

void NormOp::getFactors(FactorModel &model) {
  unsigned tokens = model.add(kTokens, FactorKind::PassThrough);
  unsigned width = model.add("width", FactorKind::NeedWhole);
  SmallVector<DimFactor, 3> dims = {{tokens}, {width}};
  if (tensor(getInput()).getRank() == 3)
    dims.insert(dims.begin() + 1,
                {model.add("heads", FactorKind::PassThrough)});
  model.operand(dims);
  // A weight is of one row's last dimensions: the width, or heads and width.
  auto addParameter = [&](Value parameter) {
    size_t rank = tensor(parameter).getRank();
    if (rank == 2 && dims.size() == 3)
      model.operand(ArrayRef(dims).drop_front());
    else
      model.operand({{width}});
  };
  addParameter(getWeight());
  if (getBias())
    addParameter(getBias());
  model.result(dims);
}

void RowSquaresOp::getFactors(FactorModel &model) {
  unsigned tokens = model.add(kTokens, FactorKind::PassThrough);
  unsigned features = model.add("features", FactorKind::Reduction);
  unsigned statistic = model.add("statistic", FactorKind::NeedWhole);
  model.operand({{tokens}, {features}});
  model.result({{tokens}, {statistic}});
}

void NormByOp::getFactors(FactorModel &model) {
  unsigned tokens = model.add(kTokens, FactorKind::PassThrough);
  unsigned features = model.add("features", FactorKind::PassThrough);
  unsigned statistic = model.add("statistic", FactorKind::NeedWhole);
  model.operand({{tokens}, {features}});
  model.operand({{tokens}, {statistic}});
  model.operand({{features}});
  model.result({{tokens}, {features}});
}

StringRef NormOp::getVariant() {
  if (getKind() == NormKind::Layer)
    return "layer";
  return getWeightOffset().isZero() ? "rms" : "rms_offset";
}

static void getLinearFactors(Operation *op, FactorModel &model, StringRef out) {
  unsigned tokens = model.add(kTokens, FactorKind::PassThrough);
  unsigned in = model.add("in", FactorKind::Reduction);
  unsigned outs = model.add(out, FactorKind::PassThrough);
  model.operand({{tokens}, {in}});
  model.operand({{outs}, {in}});
  if (op->getNumOperands() == 3)
    model.operand({{outs}});
  model.result({{tokens}, {outs}});
}

void LinearOp::getFactors(FactorModel &model) {
  getLinearFactors(*this, model, "out");
}
bool LinearOp::hasContraction() { return true; }
bool LinearOp::isLinearIn(unsigned operand) { return operand == 0; }
SmallVector<unsigned, 2> LinearOp::getAddends() {
  return getBias() ? SmallVector<unsigned, 2>{2} : SmallVector<unsigned, 2>{};
}

void LogitsOp::getFactors(FactorModel &model) {
  getLinearFactors(*this, model, "vocabulary");
}
bool LogitsOp::hasContraction() { return true; }
bool LogitsOp::isLinearIn(unsigned operand) { return operand == 0; }

static void getHeadFactors(FactorModel &model, RankedTensorType heads,
                           bool split) {
  int64_t width =
      heads.getRank() == 3 && !heads.isDynamicDim(2) ? heads.getDimSize(2) : 1;
  unsigned tokens = model.add(kTokens, FactorKind::PassThrough);
  unsigned head = model.add("heads", FactorKind::PassThrough);
  unsigned feature = model.add("width", FactorKind::NeedWhole);
  SmallVector<DimFactor, 3> flat = {{tokens}, {head, width}};
  SmallVector<DimFactor, 3> cube = {{tokens}, {head}, {feature}};
  model.operand(split ? flat : cube);
  model.result(split ? cube : flat);
}

void SplitHeadsOp::getFactors(FactorModel &model) {
  getHeadFactors(model, tensor(getResult()), /*split=*/true);
}
void MergeHeadsOp::getFactors(FactorModel &model) {
  getHeadFactors(model, tensor(getInput()), /*split=*/false);
}
bool SplitHeadsOp::isView() { return true; }
bool MergeHeadsOp::isView() { return true; }
bool SplitHeadsOp::isLinearIn(unsigned) { return true; }
bool MergeHeadsOp::isLinearIn(unsigned) { return true; }

void RopeOp::getFactors(FactorModel &model) {
  unsigned tokens = model.add(kTokens, FactorKind::PassThrough);
  unsigned heads = model.add("heads", FactorKind::PassThrough);
  unsigned width = model.add("width", FactorKind::NeedWhole);
  model.operand({{tokens}, {heads}, {width}});
  model.operand({{tokens}});
  model.result({{tokens}, {heads}, {width}});
}
SmallVector<std::pair<unsigned, unsigned>, 2> RopeOp::getPositionedOperands() {
  return {{1, 0}};
}

void CacheOp::getFactors(FactorModel &model) {
  // Rows are cached in global order: the step's rows are needed whole.
  unsigned rows = model.add("rows", FactorKind::NeedWhole);
  unsigned context = model.add("context", FactorKind::NeedWhole);
  SmallVector<DimFactor, 3> in = {{rows}}, out = {{context}};
  for (int64_t dim = 1, e = tensor(getResult()).getRank(); dim < e; ++dim) {
    unsigned factor = model.add("row dimension", FactorKind::PassThrough);
    in.push_back({factor});
    out.push_back({factor});
  }
  model.operand(in);
  model.result(out);
}
Value CacheOp::getCarriedRows() { return getRows(); }
bool CacheOp::prependsHistory() { return true; }

void AttentionOp::getFactors(FactorModel &model) {
  auto query = tensor(getQuery());
  unsigned tokens = model.add(kTokens, FactorKind::PassThrough);
  unsigned heads = model.add("heads", FactorKind::PassThrough);
  unsigned width = model.add("width", FactorKind::NeedWhole);
  unsigned context = model.add("context", FactorKind::NeedWhole);
  unsigned valueWidth = model.add("value width", FactorKind::NeedWhole);
  unsigned kvHeads = model.addReadBy(
      "KV heads", heads, query.getRank() == 3 ? query.getDimSize(1) : 0);
  model.operand({{tokens}, {heads}, {width}});
  model.operand({{context}, {kvHeads}, {width}});
  model.operand({{context}, {kvHeads}, {valueWidth}});
  model.operand({{tokens}});
  model.operand({{context}});
  if (getSinks())
    model.operand({{heads}});
  model.result({{tokens}, {heads}, {valueWidth}});
}
SmallVector<std::pair<unsigned, unsigned>, 2>
AttentionOp::getPositionedOperands() {
  return {{3, 0}, {4, 1}, {4, 2}};
}

void ActivationOp::getFactors(FactorModel &model) {
  getElementwiseFactors(*this, model, "features");
}
void GatedActivationOp::getFactors(FactorModel &model) {
  getElementwiseFactors(*this, model, "features");
}

void AddOp::getFactors(FactorModel &model) {
  getElementwiseFactors(*this, model, "features");
}
bool AddOp::isLinearIn(unsigned) { return true; }
SmallVector<unsigned, 2> AddOp::getAddends() { return {0, 1}; }

void AddBiasOp::getFactors(FactorModel &model) {
  unsigned tokens = model.add(kTokens, FactorKind::PassThrough);
  unsigned features = model.add("features", FactorKind::PassThrough);
  model.operand({{tokens}, {features}});
  model.operand({{features}});
  model.result({{tokens}, {features}});
}

void ScaleOp::getFactors(FactorModel &model) {
  getElementwiseFactors(*this, model, "features");
}
bool ScaleOp::isLinearIn(unsigned) { return true; }

void SoftcapOp::getFactors(FactorModel &model) {
  getElementwiseFactors(*this, model, "features");
}

void CastOp::getFactors(FactorModel &model) {
  getElementwiseFactors(*this, model, "features");
}

/// Features of a group, as many groups as columns of scales; 0: one group. The
/// layout rules run before the op's own verifier, which says what is wrong.
static int64_t getGroupSize(Value values, Value scales) {
  int64_t width = tensor(values).getDimSize(1),
          columns = tensor(scales).getDimSize(1);
  return columns > 1 && width % columns == 0 ? width / columns : 0;
}

void QuantizeOp::getFactors(FactorModel &model) {
  unsigned tokens = model.add(kTokens, FactorKind::PassThrough);
  if (int64_t size = ::getGroupSize(getValues(), getScales())) {
    // A group's scale is that of its largest feature: groups stay whole.
    unsigned groups = model.add("groups", FactorKind::PassThrough);
    model.operand({{tokens}, {groups, size}});
    model.result({{tokens}, {groups, size}});
    model.result({{tokens}, {groups}});
    return;
  }
  // A row's scale is that of its largest feature.
  unsigned width = model.add("width", FactorKind::NeedWhole);
  unsigned scale = model.add("scale", FactorKind::NeedWhole);
  model.operand({{tokens}, {width}});
  model.result({{tokens}, {width}});
  model.result({{tokens}, {scale}});
}

void DequantizeOp::getFactors(FactorModel &model) {
  unsigned tokens = model.add(kTokens, FactorKind::PassThrough);
  if (int64_t size = ::getGroupSize(getValues(), getScales())) {
    unsigned groups = model.add("groups", FactorKind::PassThrough);
    model.operand({{tokens}, {groups, size}});
    model.operand({{tokens}, {groups}});
    model.result({{tokens}, {groups, size}});
    return;
  }
  unsigned features = model.add("features", FactorKind::PassThrough);
  unsigned scale = model.add("scale", FactorKind::NeedWhole);
  model.operand({{tokens}, {features}});
  model.operand({{tokens}, {scale}});
  model.result({{tokens}, {features}});
}
