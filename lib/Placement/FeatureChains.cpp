//===- FeatureChains.cpp - products that can keep their features whole ----===//
#include "layline/Placement/FeatureChains.h"
#include "dialects/Grid/Grid.h"
#include "layline/Support/PlaceName.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace layline;
using namespace layline::grid;

namespace {

/// Follows one chain from the op that asks for split features.
class ChainFinder {
public:
  explicit ChainFinder(Operation *divided) { chain.divided = divided; }

  std::optional<FeatureChain> find();

private:
  bool addProducers(Operation *op);
  bool addReaders(Operation *op);
  bool addWeights();

  FeatureChain chain;
  llvm::SetVector<Operation *> ops;
};

} // namespace

static bool isWeight(Value value) {
  Operation *producer = value.getDefiningOp();
  return producer && producer->getNumOperands() == 0;
}

/// The operands that carry rows of activations.
static SmallVector<Value, 3> getRowValues(Operation *op) {
  FactorModel model;
  cast<LayoutOpInterface>(op).getFactors(model);
  SmallVector<Value, 3> values;
  for (unsigned index : getRowOperands(model))
    if (!isWeight(op->getOperand(index)))
      values.push_back(op->getOperand(index));
  return values;
}

static RowwiseOpInterface getRowwise(Operation *op) {
  return op && isa<LayoutOpInterface>(op) ? dyn_cast<RowwiseOpInterface>(op)
                                          : RowwiseOpInterface();
}

/// What the op reads, back to the products that make the features.
bool ChainFinder::addProducers(Operation *op) {
  for (Value value : getRowValues(op)) {
    Operation *producer = value.getDefiningOp();
    RowwiseOpInterface rowwise = getRowwise(producer);
    if (!rowwise)
      return false;
    if (!ops.insert(producer))
      continue;
    if (!rowwise.hasContraction() && !addProducers(producer))
      return false;
  }
  return true;
}

/// What reads the op, on to the product that adds the features up.
bool ChainFinder::addReaders(Operation *op) {
  for (Operation *reader : op->getUsers()) {
    RowwiseOpInterface rowwise = getRowwise(reader);
    if (!rowwise)
      return false;
    if (rowwise.hasContraction()) {
      if (chain.owing && chain.owing != reader)
        return false;
      chain.owing = reader;
    }
    if (ops.insert(reader) && !rowwise.hasContraction() &&
        (!addProducers(reader) || !addReaders(reader)))
      return false;
  }
  return true;
}

bool ChainFinder::addWeights() {
  for (Operation *op : ops)
    for (Value operand : op->getOperands()) {
      if (!isWeight(operand))
        continue;
      if (!operand.hasOneUse())
        return false;
      chain.weights.push_back(operand);
    }
  return true;
}

std::optional<FeatureChain> ChainFinder::find() {
  chain.owing = nullptr;
  ops.insert(chain.divided);
  if (!addProducers(chain.divided) || !addReaders(chain.divided) ||
      !chain.owing || chain.owing->getNumResults() != 1)
    return std::nullopt;
  // Nobody else needs a value of the chain in parts of features.
  for (Operation *op : ops)
    if (op != chain.owing &&
        !llvm::all_of(op->getUsers(),
                      [&](Operation *user) { return ops.contains(user); }))
      return std::nullopt;
  if (!addWeights())
    return std::nullopt;
  StringAttr place = getPlace(chain.owing->getLoc());
  if (!place)
    return std::nullopt;
  chain.name = parsePlaceName(place.getValue()).name;
  chain.ops.assign(ops.begin(), ops.end());
  return std::move(chain);
}

std::vector<FeatureChain> layline::findFeatureChains(func::FuncOp function) {
  std::vector<FeatureChain> chains;
  for (Operation &op : function.getBody().front()) {
    auto layoutOp = dyn_cast<LayoutOpInterface>(op);
    RowwiseOpInterface rowwise = getRowwise(&op);
    if (!rowwise || rowwise.hasContraction() ||
        layoutOp.getTensorParallelFactor().empty())
      continue;
    if (std::optional<FeatureChain> chain = ChainFinder(&op).find())
      chains.push_back(std::move(*chain));
  }
  return chains;
}
