//===- Work.cpp - multiply-adds that count, and those of padding ----------===//
#include "layline/Verification/Work.h"
#include "dialects/Decoder/Decoder.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace layline;
using namespace layline::grid;

namespace {

/// Elements of one dimension on the rank that holds most of it.
struct Part {
  int64_t useful = 0, padded = 0;
};

/// Sums useful and padded work of products of parts.
class Counter {
public:
  Counter(MeshOp mesh, OpWork &work) : mesh(mesh), work(work) {}

  Part part(Value value, unsigned dim) {
    auto tensor = cast<RankedTensorType>(value.getType());
    LayoutAttr layout = getLayout(tensor);
    if (!layout || static_cast<int64_t>(dim) >= tensor.getRank() ||
        tensor.isDynamicDim(dim) || layout.getDims().size() <= dim) {
      isKnown = false;
      return {};
    }
    int64_t largest =
        getLargestPart(mesh, layout.getDims()[dim], tensor.getDimSize(dim));
    isKnown &= largest >= 0;
    int64_t pad = layout.getPad(dim);
    return {largest, pad ? pad : largest};
  }
  void add(ArrayRef<Part> parts) {
    int64_t useful = 1, padded = 1;
    for (Part part : parts) {
      useful *= part.useful;
      padded *= part.padded;
    }
    work.useful += useful;
    work.padded += padded;
  }

  bool isKnown = true;

private:
  MeshOp mesh;
  OpWork &work;
};

} // namespace

/// Whether `op` multiplies at all; the counter knows whether its work is known.
static bool countOp(Operation *op, Counter &counter, OpWork &work) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](decoder::AttentionOp attention) {
        Part heads = counter.part(attention.getQuery(), 1);
        counter.add({heads, counter.part(attention.getQuery(), 2)});
        counter.add({heads, counter.part(attention.getValues(), 2)});
        work.heads = heads.useful;
        work.paddedHeads = heads.padded;
        return true;
      })
      .Case<decoder::LinearOp, decoder::LogitsOp>([&](auto linear) {
        counter.add({counter.part(linear.getInput(), 1),
                     counter.part(linear.getResult(), 1)});
        return true;
      })
      .Case([&](decoder::ExpertsOp experts) {
        // Gate, up and down of every chosen expert.
        // A rank that has few experts runs no more of them for a row.
        Part chosen = counter.part(experts.getIds(), 1);
        Part held = counter.part(experts.getGate(), 0);
        chosen = {std::min(chosen.useful, held.useful),
                  std::min(chosen.padded, held.padded)};
        Part features = counter.part(experts.getGate(), 1);
        Part in = counter.part(experts.getInput(), 1);
        counter.add({chosen, features, in});
        counter.add({chosen, features, in});
        counter.add({chosen, features, counter.part(experts.getResult(), 1)});
        return true;
      })
      .Default([](Operation *) { return false; });
}

std::vector<OpWork> layline::countWork(func::FuncOp function) {
  std::vector<OpWork> all;
  MeshOp mesh = lookupMesh(function);
  if (!mesh)
    return all;
  function.walk([&](Operation *op) {
    auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
    if (!llvm::all_of(op->getOperandTypes(), isTensor))
      return;
    OpWork work;
    Counter counter(mesh, work);
    if (!countOp(op, counter, work) || !counter.isKnown)
      return;
    work.op = op->getName().stripDialect().str();
    if (StringAttr place = getPlace(op->getLoc()))
      work.at = place.str();
    all.push_back(std::move(work));
  });
  return all;
}

static double percent(int64_t part, int64_t whole) {
  return whole ? 100.0 * part / whole : 100.0;
}

void layline::printWork(const std::vector<OpWork> &work,
                        llvm::raw_ostream &os) {
  // Layers are alike: a line for those that differ.
  llvm::MapVector<std::pair<int64_t, int64_t>, int64_t> attentions;
  int64_t useful = 0, padded = 0;
  for (const OpWork &op : work) {
    if (op.op == "attention") {
      ++attentions[{op.heads, op.paddedHeads}];
      continue;
    }
    useful += op.useful;
    padded += op.padded;
  }
  for (auto [heads, count] : attentions)
    os << "attention: " << heads.first << " of " << heads.second
       << " heads useful ("
       << llvm::format("%.4g", percent(heads.first, heads.second)) << " %), in "
       << count << (count == 1 ? " place\n" : " places\n");
  if (padded)
    os << "products: " << useful << " of " << padded
       << " multiply-adds per token useful ("
       << llvm::format("%.4g", percent(useful, padded)) << " %)\n";
}
