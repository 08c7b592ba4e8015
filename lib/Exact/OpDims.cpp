//===- OpDims.cpp - which dimensions of an op are the same ----------------===//
#include "OpDims.h"
#include "Parts.h"
#include "layline/Exact/Memo.h"
#include <algorithm>
#include <numeric>

using namespace layline;
using namespace layline::exact;

ValueId exact::valueOf(const Op &op, DimRef ref) {
  return ref.tensor >= 0 ? op.operands[ref.tensor]
                         : op.results[-1 - ref.tensor];
}

std::string exact::describe(DimRef ref) {
  std::string tensor = ref.tensor >= 0
                           ? "operand " + std::to_string(ref.tensor)
                           : "result " + std::to_string(-1 - ref.tensor);
  return tensor + ", dimension " + std::to_string(ref.dim);
}

namespace {

struct Arity {
  size_t leastOperands, mostOperands, results;
};

Arity arityOf(OpKind kind) {
  switch (kind) {
  case OpKind::Input:
  case OpKind::Weight:
    return {0, 0, 1};
  case OpKind::Norm:
  case OpKind::Linear:
    return {2, 3, 1};
  case OpKind::NormBy:
    return {3, 3, 1};
  case OpKind::Attention:
    return {5, 6, 1};
  case OpKind::LatentAttention:
    return {8, 9, 1};
  case OpKind::Indexer:
    return {5, 5, 2};
  case OpKind::Router:
    return {1, 2, 2};
  case OpKind::Quantize:
    return {1, 1, 2};
  case OpKind::Experts:
    return {6, 8, 1};
  case OpKind::AddExpertBias:
    return {4, 4, 1};
  case OpKind::Dispatch:
    return {3, 3, 3};
  case OpKind::Combine:
    return {2, 2, 1};
  case OpKind::Add:
  case OpKind::Mul:
  case OpKind::ConcatColumns:
    return {1, SIZE_MAX, 1};
  case OpKind::Embedding:
  case OpKind::Rope:
  case OpKind::GatedActivation:
  case OpKind::AddBias:
  case OpKind::Dequantize:
  case OpKind::RowScale:
    return {2, 2, 1};
  default:
    return {1, 1, 1};
  }
}

constexpr int kResult = -1, kSecondResult = -2;

class Describer {
public:
  Describer(const Program &program, const Op &op) : program(program), op(op) {}
  OpDims describe();

private:
  unsigned rank(int tensor) const {
    return program.values[valueOf(op, {tensor, 0})].shape.size();
  }
  /// Whether the tensors have these numbers of dimensions.
  bool haveRanks(const std::vector<std::pair<int, unsigned>> &ranks);
  void same(DimRef a, DimRef b, bool isLocal = true) {
    dims.same.push_back({a, b, isLocal});
  }
  /// All dimensions of two tensors of one rank; `changed` is not local.
  void sameAll(int a, int b, std::optional<unsigned> changed = std::nullopt);
  void fail(std::string why) {
    if (dims.fault.empty())
      dims.fault = std::move(why);
  }

  void weight();
  void norm();
  void rowSquares();
  void normBy();
  void linear();
  void heads(int flat, int cube);
  void rope();
  void attention();
  void latentAttention();
  void indexer();
  void router();
  void experts();
  void addExpertBias();
  void quantize(int input, int values, int scales);
  void columns(const std::vector<int> &parts, int whole, int64_t begin);
  void redistribution();
  void routing();
  void relabel();

  const Program &program;
  const Op &op;
  OpDims dims;
};

bool Describer::haveRanks(const std::vector<std::pair<int, unsigned>> &ranks) {
  for (auto [tensor, expected] : ranks)
    if (rank(tensor) != expected) {
      fail((tensor >= 0 ? "operand " + std::to_string(tensor)
                        : "result " + std::to_string(-1 - tensor)) +
           " has " + std::to_string(rank(tensor)) + " dimensions instead of " +
           std::to_string(expected));
      return false;
    }
  return true;
}

void Describer::sameAll(int a, int b, std::optional<unsigned> changed) {
  if (!haveRanks({{b, rank(a)}}))
    return;
  for (unsigned dim = 0, e = rank(a); dim < e; ++dim)
    same({a, dim}, {b, dim}, dim != changed);
}

void Describer::weight() {
  const StoredTensor &stored = op.attrs.weight;
  std::vector<int64_t> shape = stored.shape;
  if (stored.rows) {
    if (shape.empty() || stored.rows->begin < 0 || stored.rows->size < 0 ||
        stored.rows->begin > shape[0] - stored.rows->size)
      return fail("the window of rows is not within the stored tensor");
    shape[0] = stored.rows->size;
  }
  if (stored.period) {
    if (!stored.rows || stored.rows->end() > stored.period ||
        stored.shape[0] % stored.period)
      return fail("the window of rows is not within a period of the stored "
                  "tensor");
    shape[0] *= stored.shape[0] / stored.period;
  }
  if (!haveRanks({{kResult, shape.size() + stored.isStacked}}))
    return;
  const std::vector<Expr> &extents = program.values[op.results[0]].shape;
  for (size_t i = 0; i < shape.size(); ++i)
    if (!extents[i + stored.isStacked].isConstant(shape[i]))
      return fail("dimension " + std::to_string(i) + " of the value is not " +
                  std::to_string(shape[i]) + ", as stored");
}

void Describer::norm() {
  unsigned rows = rank(0);
  for (int parameter = 1; parameter < int(op.operands.size()); ++parameter) {
    unsigned own = rank(parameter);
    if (own == 0 || own > rows)
      return fail("the weight has no dimension or more than the input");
    // Its dimensions are the last ones of the input.
    for (unsigned dim = 0; dim < own; ++dim)
      same({parameter, dim}, {0, rows - own + dim});
  }
  if (rows == 0)
    return fail("the input has no dimension");
  sameAll(0, kResult);
}

void Describer::rowSquares() {
  if (!haveRanks({{0, 2}, {kResult, 2}}))
    return;
  same({0, 0}, {kResult, 0});
  if (!program.values[op.results[0]].shape[1].isConstant(1))
    fail("the result is not one number a row");
}

void Describer::normBy() {
  if (!haveRanks({{0, 2}, {1, 2}, {2, 1}}))
    return;
  sameAll(0, kResult);
  same({0, 0}, {1, 0});
  same({0, 1}, {2, 0});
  if (!program.values[op.operands[1]].shape[1].isConstant(1))
    fail("the statistics are not one number a row");
}

void Describer::linear() {
  unsigned last = rank(0) - 1;
  if (rank(0) == 0)
    return fail("the input has no dimension");
  if (!haveRanks({{1, 2}, {kResult, last + 1}}))
    return;
  for (unsigned dim = 0; dim < last; ++dim)
    same({0, dim}, {kResult, dim});
  same({0, last}, {1, 1});
  same({1, 0}, {kResult, last});
  if (op.operands.size() == 3 && haveRanks({{2, 1}}))
    same({2, 0}, {kResult, last});
}

void Describer::heads(int flat, int cube) {
  if (!haveRanks({{flat, 2}, {cube, 3}}))
    return;
  same({flat, 0}, {cube, 0});
  dims.flats.push_back({{flat, 1}, {cube, 1}, {cube, 2}});
}

void Describer::rope() {
  if (!op.attrs.rope)
    return fail("no table of frequencies");
  if (!haveRanks({{0, 3}, {1, 1}}))
    return;
  same({0, 0}, {1, 0});
  if (!op.attrs.rope->isReordered) {
    sameAll(0, kResult);
    return dims.rotated.push_back({0, 2});
  }
  if (!haveRanks({{kResult, 3}}))
    return;
  same({0, 0}, {kResult, 0});
  same({0, 1}, {kResult, 1});
  const std::vector<Expr> &to = program.values[op.results[0]].shape;
  if (!isSameExtent(program.values[op.operands[0]].shape[2], to[2]))
    return fail("the heads have another width behind the rotation");
  dims.reordered.push_back({{0, 2}, {kResult, 2}});
}

void Describer::attention() {
  if (!haveRanks({{0, 3}, {1, 3}, {2, 3}, {3, 1}, {4, 1}, {kResult, 3}}))
    return;
  same({0, 0}, {3, 0});
  same({0, 0}, {kResult, 0});
  same({0, 1}, {kResult, 1});
  same({0, 2}, {1, 2});
  same({1, 0}, {2, 0});
  same({1, 0}, {4, 0});
  // Each rank finds the heads by number: parts may begin elsewhere.
  same({1, 1}, {2, 1}, /*isLocal=*/false);
  same({2, 2}, {kResult, 2});
  dims.readers.push_back({{0, 1}, {1, 1}});
  if (op.operands.size() == 6 && haveRanks({{5, 1}}))
    same({5, 0}, {0, 1});
}

void Describer::latentAttention() {
  if (!haveRanks({{0, 3},
                  {1, 3},
                  {2, 2},
                  {3, 2},
                  {4, 2},
                  {5, 2},
                  {6, 1},
                  {7, 1},
                  {kResult, 3}}))
    return;
  for (DimRef rows : {DimRef{1, 0}, {6, 0}, {kResult, 0}})
    same({0, 0}, rows);
  for (DimRef heads : {DimRef{1, 1}, {kResult, 1}})
    same({0, 1}, heads);
  same({1, 2}, {3, 1});
  for (DimRef context : {DimRef{3, 0}, {7, 0}})
    same({2, 0}, context);
  same({2, 1}, {4, 1});
  same({2, 1}, {5, 1});
  dims.flats.push_back({{4, 0}, {0, 1}, {0, 2}});
  dims.flats.push_back({{5, 0}, {kResult, 1}, {kResult, 2}});
  if (op.operands.size() == 9 && haveRanks({{8, 2}}))
    same({0, 0}, {8, 0});
}

void Describer::indexer() {
  if (!haveRanks({{0, 3},
                  {1, 2},
                  {2, 2},
                  {3, 1},
                  {4, 1},
                  {kResult, 2},
                  {kSecondResult, 2}}))
    return;
  for (DimRef rows : {DimRef{2, 0}, {3, 0}, {kResult, 0}, {kSecondResult, 0}})
    same({0, 0}, rows);
  same({0, 1}, {2, 1});
  same({0, 2}, {1, 1});
  same({1, 0}, {4, 0});
  same({kResult, 1}, {kSecondResult, 1});
  dims.choices.push_back({kResult, 1});
}

void Describer::router() {
  if (!haveRanks({{0, 2}, {kResult, 2}, {kSecondResult, 2}}))
    return;
  if (op.operands.size() == 2 && haveRanks({{1, 1}}))
    same({0, 1}, {1, 0});
  same({0, 0}, {kResult, 0});
  same({0, 0}, {kSecondResult, 0});
  same({kResult, 1}, {kSecondResult, 1});
  dims.choices.push_back({kResult, 1});
}

void Describer::experts() {
  if (!haveRanks(
          {{0, 2}, {1, 2}, {2, 2}, {3, 3}, {4, 3}, {5, 3}, {kResult, 2}}))
    return;
  same({0, 0}, {1, 0});
  same({0, 0}, {2, 0});
  same({0, 0}, {kResult, 0});
  same({1, 1}, {2, 1});
  same({0, 1}, {3, 2});
  for (unsigned dim = 0; dim < 3; ++dim)
    same({3, dim}, {4, dim});
  same({3, 0}, {5, 0});
  same({3, 1}, {5, 2});
  same({5, 1}, {kResult, 1});
  if (op.operands.size() == 7)
    return fail("there is one bias, of gate or of up");
  for (int bias : {6, 7}) {
    if (op.operands.size() < 8 || !haveRanks({{bias, 2}}))
      continue;
    same({bias, 0}, {3, 0});
    same({bias, 1}, {3, 1});
  }
}

void Describer::addExpertBias() {
  if (!haveRanks({{0, 2}, {1, 2}, {2, 2}, {3, 2}}))
    return;
  sameAll(0, kResult);
  same({0, 0}, {1, 0});
  sameAll(1, 2);
  same({3, 1}, {0, 1});
}

void Describer::quantize(int input, int values, int scales) {
  if (rank(input) == 0)
    return fail("the input has no dimension");
  sameAll(input, values);
  if (!haveRanks({{scales, rank(input)}}))
    return;
  unsigned last = rank(input) - 1;
  for (unsigned dim = 0; dim < last; ++dim)
    same({input, dim}, {scales, dim});
  auto extent = [&](int of) -> const Expr & {
    return program.values[valueOf(op, DimRef{of, last})].shape[last];
  };
  const Expr &columns = extent(scales), &width = extent(input);
  if (!columns.isConstant() || columns.constant() < 1)
    return fail("the scales have no constant number of columns");
  if (columns.constant() == 1)
    return;
  if (!width.isConstant() || width.constant() % columns.constant() != 0)
    return fail("the columns of scales do not divide the features");
  dims.groups.push_back(
      {{input, last}, {scales, last}, width.constant() / columns.constant()});
}

/// The last dimensions of the parts stand one behind another in that of the
/// whole, from `begin` on; the others are the same.
void Describer::columns(const std::vector<int> &parts, int whole,
                        int64_t begin) {
  if (rank(whole) == 0)
    return fail("there is no dimension to take columns of");
  unsigned last = rank(whole) - 1;
  for (int part : parts) {
    if (!haveRanks({{part, last + 1}}))
      return;
    for (unsigned dim = 0; dim < last; ++dim)
      same({whole, dim}, {part, dim});
    dims.windows.push_back({{whole, last}, {part, last}, begin});
    const Expr &width = program.values[valueOf(op, {part, 0})].shape[last];
    if (!width.isConstant())
      return fail("columns are not of a constant number");
    begin += width.constant();
  }
  const Expr &width = program.values[valueOf(op, {whole, 0})].shape[last];
  if (op.kind == OpKind::ConcatColumns && !width.isConstant(begin))
    fail("the operands have " + std::to_string(begin) +
         " columns together, the result has not");
}

/// Ops that change which part of a dimension a rank holds, or how padded it is.
void Describer::redistribution() {
  bool changesDim =
      op.kind != OpKind::AllReduce && op.kind != OpKind::Broadcast;
  bool isCollective = op.kind >= OpKind::Slice && op.kind <= OpKind::Broadcast;
  if (changesDim && op.attrs.dim >= rank(0))
    return fail("the input has no dimension " + std::to_string(op.attrs.dim));
  if (isCollective && op.attrs.axes.empty())
    return fail("no mesh axis is named");
  for (unsigned axis : op.attrs.axes)
    if (axis >= program.axes.size())
      return fail("the mesh has no axis " + std::to_string(axis));
  sameAll(0, kResult,
          changesDim ? std::optional<unsigned>(op.attrs.dim) : std::nullopt);
}

/// Rows that go to the ranks of their experts, or come back from them.
void Describer::routing() {
  bool isDispatch = op.kind == OpKind::Dispatch;
  if (op.attrs.axes.size() != 1 || op.attrs.axes[0] >= program.axes.size())
    return fail("it is not over one axis of the mesh");
  if (op.attrs.experts < 1)
    return fail("there are no experts to send rows to");
  for (int tensor = 0; tensor < int(op.operands.size()); ++tensor)
    if (!haveRanks({{tensor, 2}}))
      return;
  for (int tensor = 0; tensor < int(op.results.size()); ++tensor)
    sameAll(tensor, -1 - tensor, /*changed=*/0u);
  // Before the dispatch ids and weights are there as the rows are, behind the
  // combine the rows as the ids.
  if (isDispatch) {
    same({0, 0}, {1, 0});
    same({0, 0}, {2, 0});
    same({1, 1}, {2, 1});
    same({kResult, 0}, {kSecondResult, 0});
    same({kResult, 0}, {kSecondResult - 1, 0});
  } else {
    same({kResult, 0}, {1, 0});
  }
}

/// Of the same global tensor the dimensions stay what they are; as another
/// tensor it is any data.
void Describer::relabel() {
  const std::vector<Expr> &from = program.values[op.operands[0]].shape;
  const std::vector<Expr> &to = program.values[op.results[0]].shape;
  for (unsigned dim = 0; dim < std::min(from.size(), to.size()); ++dim)
    if (from.size() == to.size() && from[dim].isConstant() &&
        to[dim].isConstant(from[dim].constant()))
      same({0, dim}, {kResult, dim}, /*isLocal=*/false);
}

OpDims Describer::describe() {
  switch (op.kind) {
  case OpKind::Input:
    break;
  case OpKind::Weight:
    weight();
    break;
  case OpKind::Embedding:
    if (!haveRanks({{0, 1}, {1, 2}, {kResult, 2}}))
      break;
    same({0, 0}, {kResult, 0});
    same({1, 1}, {kResult, 1});
    break;
  case OpKind::Norm:
    norm();
    break;
  case OpKind::RowSquares:
    rowSquares();
    break;
  case OpKind::NormBy:
    normBy();
    break;
  case OpKind::Linear:
    linear();
    break;
  case OpKind::SplitHeads:
    heads(0, kResult);
    break;
  case OpKind::MergeHeads:
    heads(kResult, 0);
    break;
  case OpKind::Rope:
    rope();
    break;
  case OpKind::Cache:
    if (rank(0) == 0)
      fail("the input has no dimension");
    else if (haveRanks({{kResult, rank(0)}}))
      for (unsigned dim = 1; dim < rank(0); ++dim)
        same({0, dim}, {kResult, dim});
    break;
  case OpKind::Attention:
    attention();
    break;
  case OpKind::LatentAttention:
    latentAttention();
    break;
  case OpKind::Indexer:
    indexer();
    break;
  case OpKind::Router:
    router();
    break;
  case OpKind::Experts:
    experts();
    break;
  case OpKind::AddExpertBias:
    addExpertBias();
    break;
  case OpKind::AddBias:
    sameAll(0, kResult);
    if (rank(0) == 0)
      fail("the input has no dimension");
    else if (haveRanks({{1, 1}}))
      same({1, 0}, {0, rank(0) - 1});
    break;
  case OpKind::Activation:
  case OpKind::GatedActivation:
  case OpKind::Add:
  case OpKind::Mul:
  case OpKind::Scale:
  case OpKind::Cast:
    for (int operand = 0; operand < int(op.operands.size()); ++operand)
      sameAll(operand, kResult);
    break;
  case OpKind::Quantize:
    quantize(0, kResult, kSecondResult);
    break;
  case OpKind::Dequantize:
  case OpKind::RowScale:
    quantize(kResult, 0, 1);
    break;
  case OpKind::SliceColumns:
    columns({kResult}, 0, op.attrs.begin);
    break;
  case OpKind::ConcatColumns: {
    std::vector<int> parts(op.operands.size());
    std::iota(parts.begin(), parts.end(), 0);
    columns(parts, kResult, 0);
    break;
  }
  case OpKind::Pad:
  case OpKind::Unpad:
  case OpKind::Slice:
  case OpKind::AllReduce:
  case OpKind::ReduceScatter:
  case OpKind::AllGather:
  case OpKind::Broadcast:
    redistribution();
    break;
  case OpKind::Dispatch:
  case OpKind::Combine:
    routing();
    break;
  case OpKind::Relabel:
    relabel();
    break;
  }
  if (!dims.fault.empty()) {
    OpDims none;
    none.fault = dims.fault;
    return none;
  }
  return std::move(dims);
}

} // namespace

OpDims exact::describeDims(const Program &program, const Op &op) {
  return Describer(program, op).describe();
}

std::string exact::findMalformed(const Program &program, const Op &op) {
  Arity arity = arityOf(op.kind);
  if (op.operands.size() < arity.leastOperands ||
      op.operands.size() > arity.mostOperands)
    return "takes another number of operands than " +
           std::to_string(op.operands.size());
  if (op.results.size() != arity.results)
    return "has another number of results than " +
           std::to_string(op.results.size());
  for (const std::vector<ValueId> *ids : {&op.operands, &op.results})
    for (ValueId id : *ids)
      if (id >= program.values.size())
        return "names value " + std::to_string(id) + ", which is not there";
      else if (program.values[id].shape.size() > Shape::kMostDims)
        return "has a value of more than four dimensions";
  return "";
}
