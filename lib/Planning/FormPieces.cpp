//===- FormPieces.cpp - the fused kernels that a program could use --------===//
#include "FormPieces.h"
#include "llvm/ADT/StringExtras.h"
#include <map>
#include <set>

using namespace mlir;
using namespace layline;
using namespace layline::grid;

// Longer chains are cut: a kernel has so many registers.
static constexpr size_t kMostOps = 8;

static bool isWeight(Value value) {
  Operation *producer = value.getDefiningOp();
  return producer && producer->getNumOperands() == 0;
}

static bool canSplit(const FormGraph::Op &op) { return op.modes.size() > 1; }

int PieceFinder::getMode(int op, bool byRows) const {
  return canSplit(graph.ops[op]) && byRows ? 1 : 0;
}

/// The op runs on what the region has made and on what was there before the
/// region's root.
bool PieceFinder::mayJoin(int number, const Region &region) const {
  const FormGraph::Op &op = graph.ops[number];
  if (!canSplit(op) || !program.getTraffic(number).gemms.empty())
    return false;
  // An addition of what owes is none of what a kernel does with a sum.
  if (!region.byRows && op.modes[0].results[0] == Form::Owed)
    return false;
  int producer = graph.values[region.root].producer;
  for (int value : op.operands) {
    bool isInside =
        value == region.root ||
        llvm::is_contained(region.ops, graph.values[value].producer);
    if (!isInside && graph.values[value].producer >= producer)
      return false;
  }
  Operation *root = program.getOp(producer);
  return llvm::all_of(program.getOp(number)->getOperands(), [&](Value operand) {
    return program.findValue(operand) >= 0 || isWeight(operand) ||
           !operand.getDefiningOp() ||
           operand.getDefiningOp()->isBeforeInBlock(root);
  });
}

PieceFinder::Region PieceFinder::grow(int root, bool byRows) const {
  Region region{root, byRows, {}};
  std::set<int> readers(graph.values[root].readers.begin(),
                        graph.values[root].readers.end());
  while (!readers.empty() && region.ops.size() < kMostOps) {
    int op = *readers.begin();
    readers.erase(readers.begin());
    if (!mayJoin(op, region))
      continue;
    region.ops.push_back(op);
    for (int result : graph.ops[op].results)
      readers.insert(graph.values[result].readers.begin(),
                     graph.values[result].readers.end());
  }
  return region;
}

SmallVector<int, 4> PieceFinder::getOutputs(const Region &region) const {
  SmallVector<int, 4> outputs;
  for (int op : region.ops)
    for (int result : graph.ops[op].results)
      if (llvm::any_of(graph.values[result].readers, [&](int reader) {
            return !llvm::is_contained(region.ops, reader);
          }))
        outputs.push_back(result);
  return outputs;
}

/// What the ops of a region do, and move besides the collectives.
PieceShape PieceFinder::describe(const Region &region, bool readsRoot) const {
  PieceShape shape;
  shape.byRows = region.byRows;
  std::set<int> read;
  SmallVector<Value> plain;
  for (int number : region.ops) {
    Operation *op = program.getOp(number);
    auto rowwise = cast<RowwiseOpInterface>(op);
    if (!rowwise.isView()) {
      shape.need.ops.push_back(op->getName().stripDialect().str());
      if (!rowwise.getVariant().empty())
        shape.need.norms.push_back(rowwise.getVariant().str());
    }
    for (Value operand : op->getOperands()) {
      int value = program.findValue(operand);
      if (value >= 0 &&
          !llvm::is_contained(region.ops, graph.values[value].producer))
        read.insert(value);
      else if (value < 0 && !isWeight(operand) &&
               !llvm::is_contained(plain, operand))
        plain.push_back(operand);
    }
    shape.local.once += program.getTraffic(number).once;
  }
  if (!readsRoot)
    read.erase(region.root);
  for (int value : read)
    shape.local.readPerRow += program.getRowBytes(value);
  for (Value operand : plain)
    shape.local.readPerRow += program.getRowBytes(operand);
  for (int output : getOutputs(region))
    shape.local.writePerRow += program.getRowBytes(output);
  auto type = cast<RankedTensorType>(program.getValue(region.root).getType());
  shape.need.dtype = getElementTypeName(type.getElementType());
  shape.need.hidden = type.getShape().back();
  shape.need.ranks = program.getRanks();
  return shape;
}

void PieceFinder::add(FormGraph::Piece piece, PieceShape shape) {
  found.push_back({std::move(piece), std::move(shape)});
}

/// Ops of one rank, in one kernel: any two or more elementwise kernels and
/// norms are one today.
void PieceFinder::addLocal(const Region &region) {
  PieceShape shape = describe(region, /*readsRoot=*/true);
  if (shape.need.ops.size() < 2)
    return;
  FormGraph::Piece piece;
  piece.anchor = graph.values[region.root].producer;
  for (int op : region.ops)
    piece.events.push_back(FormGraph::run(op, getMode(op, region.byRows)));
  shape.kernel = llvm::join(shape.need.ops, "+");
  add(std::move(piece), std::move(shape));
}

void PieceFinder::addFused(const Region &region, FusedForm form,
                           ArrayRef<int> gathered) {
  bool isSum = form != FusedForm::EpilogueAllGather;
  PieceShape shape = describe(region, /*readsRoot=*/!isSum);
  shape.form = shape.need.form = form;
  FormGraph::Piece piece;
  piece.anchor = graph.values[region.root].producer;
  SmallVector<StringRef> names;
  if (isSum) {
    shape.reducePerRow = program.getRowBytes(region.root);
    piece.events.push_back(FormGraph::convert(
        region.root,
        region.byRows ? Conversion::ReduceScatter : Conversion::AllReduce));
    names.push_back(region.byRows ? "reduce_scatter" : "all_reduce");
  }
  for (int op : region.ops)
    piece.events.push_back(FormGraph::run(op, getMode(op, region.byRows)));
  for (const std::string &op : shape.need.ops)
    names.push_back(op);
  for (int value : gathered) {
    shape.gatherPerRow += program.getRowBytes(value);
    shape.local.writePerRow -= program.getRowBytes(value);
    piece.events.push_back(FormGraph::convert(value, Conversion::AllGather));
    names.push_back("all_gather");
  }
  shape.need.normAndQuantized = emitsNormAndQuantized(getOutputs(region));
  shape.kernel = llvm::join(names, "+");
  add(std::move(piece), std::move(shape));
}

/// The value, or what it is the scales of, is in a format of 8 bits.
static bool isQuantized(Value value) {
  Operation *maker = value.getDefiningOp();
  auto type = maker ? dyn_cast<RankedTensorType>(maker->getResult(0).getType())
                    : RankedTensorType();
  return type && isa<FloatType>(type.getElementType()) &&
         type.getElementTypeBitWidth() == 8;
}

/// Both a norm and what quantises it are read outside.
bool PieceFinder::emitsNormAndQuantized(ArrayRef<int> outputs) const {
  bool norm = false, quantized = false;
  for (int output : outputs) {
    Operation *maker = program.getOp(graph.values[output].producer);
    norm |= !cast<RowwiseOpInterface>(maker).getVariant().empty();
    quantized |= isQuantized(program.getValue(output));
  }
  return norm && quantized;
}

/// What one kernel may gather: a value by itself, a quantised one with its
/// scales, and those with the norm that they are made of.
SmallVector<SmallVector<int, 4>>
PieceFinder::getGathered(ArrayRef<int> outputs) const {
  SmallVector<SmallVector<int, 4>> sets;
  SmallVector<int, 4> quantized;
  for (int output : outputs) {
    sets.push_back({output});
    if (isQuantized(program.getValue(output)))
      quantized.push_back(output);
  }
  if (quantized.size() == 2)
    sets.push_back(quantized);
  if (emitsNormAndQuantized(outputs))
    sets.push_back({outputs.begin(), outputs.end()});
  return sets;
}

void PieceFinder::addRegions(int root, bool isSum, bool byRows) {
  Region whole = grow(root, byRows);
  for (size_t length = 1; length <= whole.ops.size(); ++length) {
    Region region{
        root, byRows, {whole.ops.begin(), whole.ops.begin() + length}};
    if (length > 1)
      addLocal(region);
    SmallVector<int, 4> outputs = getOutputs(region);
    if (isSum && !byRows)
      addFused(region, FusedForm::AllReduceEpilogue, {});
    if (isSum && byRows)
      addFused(region, FusedForm::ReduceScatterEpilogue, {});
    if (byRows)
      for (ArrayRef<int> gathered : getGathered(outputs))
        addFused(region,
                 isSum ? FusedForm::ReduceScatterEpilogueAllGather
                       : FusedForm::EpilogueAllGather,
                 gathered);
  }
}

//===----------------------------------------------------------------------===//
// Gathers in one launch
//===----------------------------------------------------------------------===//

/// Ops that `to` waits for and that read `value`; none behind `limit`.
static void findReadersBefore(Operation *to, Value value, Operation *limit,
                              SmallPtrSetImpl<Operation *> &seen,
                              SmallVectorImpl<Operation *> &readers) {
  if (!seen.insert(to).second)
    return;
  for (Value operand : to->getOperands()) {
    if (operand == value) {
      readers.push_back(to);
      continue;
    }
    Operation *producer = operand.getDefiningOp();
    if (producer && limit->isBeforeInBlock(producer))
      findReadersBefore(producer, value, limit, seen, readers);
  }
}

/// One launch has all its gathers or none: what makes one of them must not wait
/// for another. Readers on the way must run by rows.
void PieceFinder::addGroup(ArrayRef<int> values) {
  FormGraph::Piece piece;
  PieceShape shape;
  shape.form = shape.need.form = FusedForm::GroupedAllGather;
  shape.byRows = true;
  SmallVector<StringRef> names(values.size(), "all_gather");
  shape.kernel = llvm::join(names, "+");
  shape.need.ranks = program.getRanks();
  for (int value : values) {
    piece.events.push_back(FormGraph::convert(value, Conversion::AllGather));
    shape.gatherPerRow += program.getRowBytes(value);
    auto type = cast<RankedTensorType>(program.getValue(value).getType());
    shape.need.dtype = getElementTypeName(type.getElementType());
    shape.need.hidden =
        std::max<int64_t>(shape.need.hidden, type.getShape().back());
    for (int other : values) {
      if (other == value)
        continue;
      SmallPtrSet<Operation *, 16> seen;
      SmallVector<Operation *> readers;
      Operation *producer = program.getOp(graph.values[value].producer);
      findReadersBefore(program.getOp(graph.values[other].producer),
                        program.getValue(value), producer, seen, readers);
      for (Operation *reader : readers) {
        int op = program.findOp(reader);
        if (op < 0 || !canSplit(graph.ops[op]))
          return;
        FormGraph::Event need = FormGraph::run(op, getMode(op, true));
        if (!llvm::is_contained(piece.needs, need))
          piece.needs.push_back(need);
      }
    }
  }
  piece.anchor = graph.values[values.front()].producer;
  if (piece.events.size() + piece.needs.size() <= 32)
    add(std::move(piece), std::move(shape));
}

/// Products of own rows of one value: what they give, or what row-wise ops make
/// of it; with the value itself and without.
void PieceFinder::addGroups(int root) {
  SmallVector<int> products;
  bool isReadWhole = false;
  for (int reader : graph.values[root].readers) {
    if (!canSplit(graph.ops[reader]) || program.getRouting(reader))
      isReadWhole = true;
    else if (!program.getTraffic(reader).gemms.empty())
      products.push_back(reader);
  }
  if (products.empty())
    return;
  std::set<std::vector<int>> known;
  auto addOnce = [&](std::vector<int> values) {
    llvm::sort(values);
    values.erase(std::unique(values.begin(), values.end()), values.end());
    if (values.size() > 1 && known.insert(values).second)
      addGroup(values);
  };
  // Each product by itself, and all of them: what engines fuse. Every subset
  // would make as many pieces as there are subsets, for a launch saved.
  std::vector<SmallVector<int>> sets;
  for (int product : products)
    sets.push_back({product});
  if (products.size() > 1)
    sets.push_back(products);
  for (const SmallVector<int> &set : sets) {
    std::vector<int> raw, last;
    for (int product : set) {
      for (int result : graph.ops[product].results) {
        raw.push_back(result);
        Region region = grow(result, /*byRows=*/true);
        auto outputs = getOutputs(region);
        if (outputs.empty())
          last.push_back(result);
        last.insert(last.end(), outputs.begin(), outputs.end());
      }
    }
    for (std::vector<int> values : {raw, last}) {
      addOnce(values);
      if (isReadWhole) {
        values.push_back(root);
        addOnce(values);
      }
    }
  }
}

/// The results of one op in one launch: a payload and its scales.
void PieceFinder::addResults(int op) {
  const FormGraph::Op &entry = graph.ops[op];
  if (entry.results.size() > 1 && canSplit(entry))
    addGroup(entry.results);
}

void PieceFinder::find() {
  for (int op = 0; op < static_cast<int>(graph.ops.size()); ++op)
    addResults(op);
  for (int value = 0; value < static_cast<int>(graph.values.size()); ++value) {
    const FormGraph::Op &producer = graph.ops[graph.values[value].producer];
    bool isSum = llvm::any_of(producer.modes, [](const FormGraph::Mode &mode) {
      return llvm::is_contained(mode.results, Form::Owed);
    });
    bool isProduct =
        canSplit(producer) &&
        !program.getTraffic(graph.values[value].producer).gemms.empty();
    for (bool byRows : {false, true})
      if (isSum || isProduct)
        addRegions(value, isSum, byRows);
    // What comes back by rows needs no sum.
    if (isSum && canSplit(producer))
      addRegions(value, /*isSum=*/false, /*byRows=*/true);
    addGroups(value);
  }
  // By anchor; pieces of one anchor as they were found.
  std::multimap<int, Found> sorted;
  for (Found &entry : found)
    sorted.emplace(entry.piece.anchor, std::move(entry));
  llvm::StringMap<int> classes;
  for (auto &[anchor, entry] : sorted) {
    const PieceShape &shape = entry.shape;
    if (shape.form) {
      KernelMatch match = capabilities.find(shape.need);
      if (!match) {
        program.addMissing(entry.piece, shape, match.reason);
        continue;
      }
    }
    std::string key;
    llvm::raw_string_ostream(key)
        << (shape.form ? static_cast<int>(*shape.form) : -1) << " "
        << shape.byRows << " " << shape.reducePerRow << " "
        << shape.gatherPerRow << " " << shape.local.readPerRow << " "
        << shape.local.writePerRow << " " << shape.local.once << " "
        << shape.kernel;
    entry.piece.costClass =
        classes.try_emplace(key, static_cast<int>(classes.size()))
            .first->second;
    program.addPiece(std::move(entry.piece), std::move(entry.shape));
  }
}
