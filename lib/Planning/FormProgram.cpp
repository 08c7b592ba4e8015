//===- FormProgram.cpp - a placed program as a form graph -----------------===//
#include "FormProgram.h"
#include "ExpertRouting.h"
#include "FormPieces.h"
#include "RowRegion.h"
#include "layline/Planning/Passes.h"
#include "layline/Support/PlaceName.h"
#include <cmath>
#include <map>

using namespace mlir;
using namespace layline;
using namespace layline::grid;

//===----------------------------------------------------------------------===//
// What kernels move
//===----------------------------------------------------------------------===//

static int64_t getElementBytes(Type type) {
  unsigned bits = cast<RankedTensorType>(type).getElementTypeBitWidth();
  return (bits + 7) / 8;
}

/// Elements that a rank holds of all dimensions but the first `skip`.
static int64_t countElements(MeshOp mesh, Type type, unsigned skip) {
  auto tensor = cast<RankedTensorType>(type);
  LayoutAttr layout = getLayout(type);
  int64_t count = 1;
  for (unsigned dim = skip; dim < tensor.getRank(); ++dim) {
    int64_t size = tensor.getDimSize(dim);
    if (ShapedType::isDynamic(size))
      continue;
    if (layout && layout.isSplit(dim) && mesh)
      size = std::max<int64_t>(
          0, getLargestPart(mesh, layout.getDims()[dim], size));
    count *= size;
  }
  return count;
}

static bool hasRows(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() > 0 && tensor.isDynamicDim(0);
}

static int64_t getBytesPerRow(MeshOp mesh, Type type) {
  return countElements(mesh, type, 1) * getElementBytes(type);
}

static bool isWeight(Value value) {
  Operation *producer = value.getDefiningOp();
  return producer && producer->getNumOperands() == 0;
}

std::string Traffic::Gemm::getKey() const {
  std::string key;
  for (int64_t number : {n, k, int64_t(weightBytes), int64_t(activationBytes),
                         stacked, chosen, total})
    key += std::to_string(number) + ",";
  return key;
}

Traffic layline::getTraffic(MeshOp mesh, Operation *op) {
  Traffic traffic;
  auto rowwise = dyn_cast<RowwiseOpInterface>(op);
  traffic.isFree = rowwise && rowwise.isView();
  int64_t activationBytes = 2;
  // Ids choose among stacked weights.
  int64_t choices = 1;
  for (Value operand : op->getOperands())
    if (hasRows(operand.getType())) {
      traffic.readPerRow += getBytesPerRow(mesh, operand.getType());
      if (isa<FloatType>(
              cast<RankedTensorType>(operand.getType()).getElementType()))
        activationBytes = getElementBytes(operand.getType());
      else if (cast<RankedTensorType>(operand.getType()).getRank() == 2)
        choices = countElements(mesh, operand.getType(), 1);
    }
  for (Value result : op->getResults())
    if (hasRows(result.getType()))
      traffic.writePerRow += getBytesPerRow(mesh, result.getType());
  for (Value operand : op->getOperands()) {
    if (!isWeight(operand))
      continue;
    auto tensor = cast<RankedTensorType>(operand.getType());
    int64_t elements = countElements(mesh, tensor, 0);
    // A matrix multiplies rows; a vector is added or scales them.
    if (tensor.getRank() >= 2 && (!rowwise || rowwise.hasContraction())) {
      int64_t k = std::max<int64_t>(
          1, countElements(mesh, tensor, tensor.getRank() - 1));
      Traffic::Gemm gemm{elements / k, k,
                         static_cast<int>(getElementBytes(tensor)),
                         static_cast<int>(activationBytes)};
      if (tensor.getRank() == 3) {
        gemm.stacked = std::max<int64_t>(
            1, countElements(mesh, tensor, 0) /
                   std::max<int64_t>(1, countElements(mesh, tensor, 1)));
        gemm.n /= gemm.stacked;
        gemm.total = std::max(gemm.stacked, tensor.getDimSize(0));
        gemm.chosen = std::min(choices, gemm.total);
      }
      traffic.gemms.push_back(gemm);
    } else {
      traffic.once += elements * getElementBytes(tensor);
    }
  }
  return traffic;
}

std::optional<ExpertRows> layline::findExpertRows(StringRef name) {
  if (name == "auto")
    return ExpertRows::Auto;
  if (name == "gathered")
    return ExpertRows::Gathered;
  if (name == "dispatched")
    return ExpertRows::Dispatched;
  return std::nullopt;
}

int64_t layline::getWeightBytes(MeshOp mesh, RankedTensorType type) {
  return countElements(mesh, type, 0) * getElementBytes(type);
}

Estimate layline::getRunEstimate(const CostModel &model, const Traffic &traffic,
                                 int64_t rows) {
  if (traffic.isFree)
    return {0, Confidence::Measured, "a view"};
  if (traffic.gemms.empty())
    return model.rowKernel(traffic.readPerRow * rows + traffic.once,
                           traffic.writePerRow * rows);
  Estimate sum;
  for (auto [index, gemm] : llvm::enumerate(traffic.gemms)) {
    // Rows spread evenly over the weights that any of them meets; a rank's part
    // of all of these meets that part of their choices.
    int64_t met = llvm::divideCeil(rows * gemm.chosen * gemm.stacked,
                                   std::max<int64_t>(1, gemm.total));
    int64_t read = std::min(gemm.stacked, met);
    Estimate one = model.gemm(llvm::divideCeil(met, std::max<int64_t>(1, read)),
                              gemm.n * read, gemm.k, gemm.weightBytes,
                              gemm.activationBytes);
    sum = index == 0 ? one : sum + one;
  }
  return sum;
}

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

class FormProgram::Builder {
public:
  Builder(FormProgram &program, func::FuncOp function, StringAttr axis)
      : program(program), graph(program.graph), function(function), axis(axis),
        mesh(lookupMesh(function)) {
    program.mesh = mesh;
  }

  void build();

private:
  void addOp(Operation *op);
  void addRest(Operation *op, FormGraph::Op entry, std::string key,
               Traffic traffic, std::optional<RoutedRows> routed = {});
  void findJoins();
  bool addRoutedOp(Operation *op);
  bool addJoin(Operation *op);
  void addValue(Value value, SmallVectorImpl<int> &results);
  /// The sum that pays what this op's result owes, if it is one of rows.
  AllReduceOp getSum(Value value) const;
  /// An addend of a sum that what dispatched rows come back as may join.
  bool isJoined(Value value) const {
    return value.hasOneUse() && joins.contains(*value.getUsers().begin());
  }
  std::optional<FormGraph::Mode>
  getOwedMode(Operation *op, ArrayRef<unsigned> rows, ArrayRef<int> operands);
  void collectSites(Operation *op, int number);
  int intern(std::string key);

  FormProgram &program;
  FormGraph &graph;
  func::FuncOp function;
  StringAttr axis;
  MeshOp mesh;
  llvm::StringMap<int> classes;
  int64_t layer = -1;
  /// Additions of what experts give to what else owes, before one sum.
  llvm::SmallPtrSet<Operation *, 8> joins;
};

int FormProgram::Builder::intern(std::string key) {
  return classes.try_emplace(key, static_cast<int>(classes.size()))
      .first->second;
}

AllReduceOp FormProgram::Builder::getSum(Value value) const {
  if (!value.hasOneUse())
    return {};
  auto reduce = dyn_cast<AllReduceOp>(*value.getUsers().begin());
  return reduce && isRowSum(reduce, axis) ? reduce : AllReduceOp();
}

void FormProgram::Builder::addValue(Value value,
                                    SmallVectorImpl<int> &results) {
  int64_t bytes = getBytesPerRow(mesh, value.getType());
  int number = graph.addValue(intern("value " + std::to_string(bytes)));
  program.values.push_back(value);
  program.sites.emplace_back();
  program.rowBytes.push_back(bytes);
  program.valueNumbers[value] = number;
  AllReduceOp sum = getSum(value);
  if (sum)
    program.valueNumbers[sum.getResult()] = number;
  else if (isJoined(value))
    sum = findRowSum(value, axis);
  if (sum && sum.getSiteAttr())
    program.sites.back().push_back(sum.getSiteAttr());
  results.push_back(number);
}

/// The op on values that owe, if it is linear in them: all addends owe, or the
/// one operand that the others are held fixed for.
std::optional<FormGraph::Mode>
FormProgram::Builder::getOwedMode(Operation *op, ArrayRef<unsigned> rows,
                                  ArrayRef<int> operands) {
  auto linear = dyn_cast<PartialLinearOpInterface>(op);
  if (!linear)
    return std::nullopt;
  SmallVector<unsigned, 2> addends = linear.getAddends();
  SmallVector<LayoutAttr> layouts;
  for (Type type : op->getOperandTypes())
    layouts.push_back(getLayout(type));
  FormGraph::Mode mode;
  bool takesOwed = false;
  for (unsigned index : rows) {
    int value = program.findValue(op->getOperand(index));
    // A deferred sum is paid in one place: nobody else may need it paid here.
    bool owes = value >= 0 && linear.isLinearIn(index) &&
                op->getOperand(index).hasOneUse() &&
                (llvm::is_contained(addends, index) || !takesOwed);
    if (owes)
      layouts[index] = layouts[index].withOwes({axis});
    takesOwed |= owes;
    if (value >= 0)
      mode.operands.push_back(owes ? Form::Owed : Form::Whole);
  }
  if (!takesOwed || mode.operands.size() != operands.size())
    return std::nullopt;
  // The rules of the types have the last word. What they say is not printed, so
  // neither is the op: that would take longer than the rest of this graph.
  SmallVector<LayoutAttr> results;
  ScopedDiagnosticHandler silence(op->getContext(),
                                  [](Diagnostic &) { return success(); });
  if (failed(inferLayouts(op, layouts, results,
                          [&] { return mlir::emitError(op->getLoc()); })))
    return std::nullopt;
  for (LayoutAttr layout : results)
    if (!layout.owesOver(axis))
      return std::nullopt;
  mode.results.assign(results.size(), Form::Owed);
  return mode;
}

/// A value made owed owes what its operands owed.
void FormProgram::Builder::collectSites(Operation *op, int number) {
  for (const FormGraph::Mode &mode : graph.ops[number].modes) {
    if (mode.results.empty() || mode.results[0] != Form::Owed)
      continue;
    for (auto [form, operand] :
         llvm::zip(mode.operands, graph.ops[number].operands))
      if (form == Form::Owed)
        for (int result : graph.ops[number].results)
          for (StringAttr site : program.sites[operand])
            if (!llvm::is_contained(program.sites[result], site))
              program.sites[result].push_back(site);
  }
}

void FormProgram::Builder::findJoins() {
  for (Operation &op : function.getBody().front())
    if (canDispatch(&op, axis))
      findRowSum(op.getResult(0), axis,
                 [&](Operation *join) { joins.insert(join); });
}

static std::vector<Form> repeat(size_t count, Form form) {
  return std::vector<Form>(count, form);
}

/// Experts: on all rows, with a sum behind them, or on rows that are sent to
/// them and come back. They multiply the same rows either way.
bool FormProgram::Builder::addRoutedOp(Operation *op) {
  if (!canDispatch(op, axis))
    return false;
  FormGraph::Op entry;
  RoutedRows routed;
  for (Value operand : op->getOperands().take_front(3)) {
    routed.rowBytes += getBytesPerRow(mesh, operand.getType());
    if (int value = program.findValue(operand); value >= 0)
      entry.operands.push_back(value);
  }
  routed.returnedBytes = getBytesPerRow(mesh, op->getResult(0).getType());
  RoutingShape shape = getRoutingShape(op);
  routed.hits = getExpectedHits(shape, program.ranks);
  SmallVector<int> results;
  addValue(op->getResult(0), results);
  entry.results.assign(results.begin(), results.end());
  size_t count = entry.operands.size();
  entry.modes.push_back({repeat(count, Form::Whole), {Form::Owed}});
  entry.modes.push_back({repeat(count, Form::Rows), {Form::Rows}});
  std::string key = "routed";
  for (int64_t number : {routed.rowBytes, routed.returnedBytes, shape.experts,
                         shape.chosen, shape.groups, shape.chosenGroups})
    key += " " + std::to_string(number);
  addRest(op, std::move(entry), std::move(key), layline::getTraffic(mesh, op),
          routed);
  return true;
}

/// What comes back by rows is added to rows of the other addends; what owes to
/// what owes.
bool FormProgram::Builder::addJoin(Operation *op) {
  if (!joins.contains(op))
    return false;
  FormGraph::Op entry;
  for (Value operand : op->getOperands())
    if (int value = program.findValue(operand); value >= 0)
      entry.operands.push_back(value);
  if (entry.operands.size() != op->getNumOperands())
    return false;
  SmallVector<int> results;
  addValue(op->getResult(0), results);
  entry.results.assign(results.begin(), results.end());
  size_t count = entry.operands.size();
  entry.modes.push_back({repeat(count, Form::Owed), {Form::Owed}});
  entry.modes.push_back({repeat(count, Form::Rows), {Form::Rows}});
  Traffic traffic = layline::getTraffic(mesh, op);
  std::string key = "join " + std::to_string(traffic.readPerRow) + " " +
                    std::to_string(traffic.writePerRow);
  addRest(op, std::move(entry), std::move(key), std::move(traffic));
  return true;
}

void FormProgram::Builder::addOp(Operation *op) {
  if (auto reduce = dyn_cast<AllReduceOp>(op))
    if (program.findValue(reduce.getInput()) >= 0 && isRowSum(reduce, axis))
      return;
  if (addRoutedOp(op) || addJoin(op))
    return;
  FormGraph::Op entry;
  SmallVector<unsigned, 3> rows = getRowsToSplit(*op, axis);
  std::string key = op->getName().getStringRef().str();
  auto addOperand = [&](unsigned index) {
    int value = program.findValue(op->getOperand(index));
    if (value >= 0)
      entry.operands.push_back(value);
    return value >= 0;
  };
  bool readsGraph = false;
  for (unsigned index : rows)
    readsGraph |= addOperand(index);
  bool canSplitRows = readsGraph;
  if (!canSplitRows)
    for (unsigned index = 0; index < op->getNumOperands(); ++index)
      readsGraph |= addOperand(index);

  SmallVector<int> results;
  size_t numOperands = entry.operands.size();
  if (canSplitRows) {
    for (Value result : op->getResults())
      addValue(result, results);
    for (Form form : {Form::Whole, Form::Rows})
      entry.modes.push_back(
          {repeat(numOperands, form), repeat(results.size(), form)});
    if (auto owed = getOwedMode(op, rows, entry.operands))
      entry.modes.push_back(*owed);
  } else {
    for (Value result : op->getResults())
      if (getSum(result) || isJoined(result))
        addValue(result, results);
    if (!readsGraph && results.empty())
      return;
    entry.modes.push_back(
        {repeat(numOperands, Form::Whole), repeat(results.size(), Form::Owed)});
  }
  entry.results.assign(results.begin(), results.end());

  Traffic traffic = canSplitRows ? layline::getTraffic(mesh, op) : Traffic();
  if (canSplitRows) {
    key += " " + std::to_string(traffic.readPerRow) + " " +
           std::to_string(traffic.writePerRow) + " " +
           std::to_string(traffic.once);
    for (const Traffic::Gemm &gemm : traffic.gemms)
      key += " " + gemm.getKey();
    key += cast<RowwiseOpInterface>(op).getVariant();
  } else {
    key += " fixed";
  }
  addRest(op, std::move(entry), std::move(key), std::move(traffic));
}

void FormProgram::Builder::addRest(Operation *op, FormGraph::Op entry,
                                   std::string key, Traffic traffic,
                                   std::optional<RoutedRows> routed) {
  entry.costClass = intern(key);
  // A layer starts a stretch.
  int64_t place = getLayer(op);
  if (graph.segments.empty() || place != layer) {
    graph.segments.push_back(static_cast<int>(graph.ops.size()));
    layer = place;
  }
  int number = graph.addOp(std::move(entry));
  program.ops.push_back(op);
  program.traffic.push_back(std::move(traffic));
  program.routing.push_back(routed);
  program.opNumbers[op] = number;
  collectSites(op, number);
}

void FormProgram::Builder::build() {
  program.ranks = mesh ? mesh.getAxisSize(axis).value_or(1) : 1;
  findJoins();
  llvm::StringMap<size_t> known;
  for (Operation &op : function.getBody().front()) {
    if (op.getNumOperands() == 0)
      continue;
    addOp(&op);
    int number = program.findOp(&op);
    // Experts multiply what they multiply in every plan.
    if (number >= 0 && graph.ops[number].modes.size() > 1 &&
        !program.getRouting(number))
      continue;
    Traffic traffic = layline::getTraffic(mesh, &op);
    bool isProduct = !traffic.gemms.empty();
    if (traffic.isFree || (!isProduct && !isa<RowwiseOpInterface>(op)))
      continue;
    Counted &list = isProduct ? program.fixed : program.fixedRowwise;
    std::string key;
    if (!isProduct)
      key = std::to_string(traffic.readPerRow) + " " +
            std::to_string(traffic.writePerRow) + " " +
            std::to_string(traffic.once);
    for (const Traffic::Gemm &gemm : traffic.gemms)
      key += gemm.getKey() + " ";
    auto [entry, isNew] = known.try_emplace(key, list.size());
    if (isNew)
      list.emplace_back(std::move(traffic), 0);
    ++list[entry->second].second;
  }
}

int64_t layline::getLayer(Operation *op) {
  StringAttr place = getPlace(op->getLoc());
  return place ? parsePlaceName(place.getValue()).layer : -1;
}

FormProgram::FormProgram(func::FuncOp function, StringAttr axis,
                         const Capabilities *capabilities) {
  Builder(*this, function, axis).build();
  if (capabilities)
    PieceFinder(*this, *capabilities).find();
}

std::string layline::getElementTypeName(Type type) {
  if (type.isBF16())
    return "bf16";
  if (type.isF16())
    return "f16";
  if (type.isF64())
    return "f64";
  if (isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8)
    return "fp8";
  if (isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 4)
    return "fp4";
  // Indices and positions travel as words.
  return "f32";
}

int64_t FormProgram::getRowBytes(Value value) const {
  return hasRows(value.getType()) ? getBytesPerRow(mesh, value.getType()) : 0;
}

int FormProgram::findOp(Operation *op) const {
  auto found = opNumbers.find(op);
  return found == opNumbers.end() ? -1 : found->second;
}

int FormProgram::findValue(Value value) const {
  auto found = valueNumbers.find(value);
  return found == valueNumbers.end() ? -1 : found->second;
}

int FormProgram::addPiece(FormGraph::Piece piece, PieceShape shape) {
  graph.pieces.push_back(std::move(piece));
  pieces.push_back(std::move(shape));
  return static_cast<int>(pieces.size()) - 1;
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// Rows of the rank that has most.
static int64_t getRows(int64_t tokens, bool byRows, int64_t ranks) {
  return byRows ? llvm::divideCeil(tokens, ranks) : tokens;
}

static Collective getCollective(Conversion conversion) {
  switch (conversion) {
  case Conversion::ReduceScatter:
    return Collective::ReduceScatter;
  case Conversion::AllReduce:
    return Collective::AllReduce;
  case Conversion::AllGather:
    return Collective::AllGather;
  }
  llvm_unreachable("unknown conversion");
}

Estimate FormProgram::getEstimate(const CostModel &model,
                                  const FormGraph::Event &event,
                                  int64_t tokens) const {
  if (event.isConversion)
    return model.collective(
        getCollective(static_cast<Conversion>(event.choice)),
        rowBytes[event.subject] * tokens, ranks);
  const FormGraph::Op &op = graph.ops[event.subject];
  // What the plan changes nothing of has no price here.
  if (op.modes.size() == 1)
    return {0, Confidence::Measured, "not in question"};
  if (const std::optional<RoutedRows> &routed = routing[event.subject]) {
    if (event.choice == 0)
      return {0, Confidence::Measured, "all rows are there"};
    // An all_to_all of what goes out on average.
    auto send = [&](int64_t rowBytes) {
      return model.collective(
          Collective::AllToAll,
          std::llround(routed->hits * static_cast<double>(rowBytes * tokens)),
          ranks);
    };
    Estimate estimate = send(routed->rowBytes) + send(routed->returnedBytes);
    estimate.confidence = Confidence::Formula;
    estimate.source += ", bytes expected of uniform routing";
    return estimate;
  }
  const FormGraph::Mode &mode = op.modes[event.choice];
  bool byRows = !mode.results.empty() && mode.results[0] == Form::Rows;
  return getRunEstimate(model, traffic[event.subject],
                        getRows(tokens, byRows, ranks));
}

static Estimate sumUp(const CostModel &model,
                      ArrayRef<std::pair<Traffic, int64_t>> counted,
                      int64_t tokens) {
  Estimate sum;
  for (const auto &[traffic, count] : counted) {
    Estimate one = getRunEstimate(model, traffic, tokens);
    one.us *= static_cast<double>(count);
    sum += one;
  }
  return sum;
}

Estimate FormProgram::getFixedEstimate(const CostModel &model,
                                       int64_t tokens) const {
  return sumUp(model, fixed, tokens);
}

Estimate FormProgram::getFixedRowwiseEstimate(const CostModel &model,
                                              int64_t tokens) const {
  return sumUp(model, fixedRowwise, tokens);
}

Estimate FormProgram::getPieceEstimate(const CostModel &model, int piece,
                                       int64_t tokens) const {
  const PieceShape &shape = pieces[piece];
  int64_t rows = getRows(tokens, shape.byRows, ranks);
  int64_t read = shape.local.readPerRow * rows + shape.local.once,
          write = shape.local.writePerRow * rows;
  if (!shape.form)
    return model.rowKernel(read, write);
  return model.fused({*shape.form, shape.reducePerRow * tokens,
                      shape.gatherPerRow * tokens, read, write},
                     ranks);
}

FormCosts FormProgram::getCosts(const CostModel &model, int64_t tokens) const {
  FormCosts costs;
  // Equal classes have equal costs: each is asked for once.
  llvm::DenseMap<std::pair<int, int>, double> known;
  auto price = [&](int costClass, int choice, FormGraph::Event event) {
    auto [entry, isNew] = known.try_emplace({costClass, choice});
    if (isNew)
      entry->second = getEstimate(model, event, tokens).us;
    return entry->second;
  };
  for (int op = 0; op < static_cast<int>(graph.ops.size()); ++op) {
    const FormGraph::Op &entry = graph.ops[op];
    auto &modes = costs.modes.emplace_back(entry.modes.size());
    // What the plan changes nothing of has no price here.
    for (int mode = 0; entry.modes.size() > 1 && mode < int(modes.size());
         ++mode)
      modes[mode] = price(entry.costClass, mode, FormGraph::run(op, mode));
  }
  for (int value = 0; value < static_cast<int>(graph.values.size()); ++value) {
    auto &conversions = costs.conversions.emplace_back();
    for (int c = 0; c < static_cast<int>(kConversions); ++c)
      conversions[c] =
          price(graph.values[value].costClass, -1 - c,
                FormGraph::convert(value, static_cast<Conversion>(c)));
  }
  llvm::DenseMap<int, double> ofPiece;
  for (auto [piece, entry] : llvm::enumerate(graph.pieces)) {
    auto [found, isNew] = ofPiece.try_emplace(entry.costClass);
    if (isNew)
      found->second =
          getPieceEstimate(model, static_cast<int>(piece), tokens).us;
    costs.pieces.push_back(found->second);
  }
  return costs;
}

FormCosts FormProgram::withoutFusedCollectives(FormCosts costs) const {
  for (auto [piece, shape] : llvm::enumerate(pieces))
    if (shape.form)
      costs.pieces[piece] = kNever;
  return costs;
}

FormCosts FormProgram::getCostsByRows() const {
  FormCosts costs;
  int64_t widest = 1;
  for (int64_t bytes : rowBytes)
    widest = std::max(widest, bytes);
  for (const FormGraph::Op &op : graph.ops) {
    auto &modes = costs.modes.emplace_back();
    Operation *source = getOp(static_cast<int>(costs.modes.size()) - 1);
    double whole = op.modes.size() > 1 && !onlyMoves(source) ? 0.75 : 0;
    for (const FormGraph::Mode &mode : op.modes)
      modes.push_back(
          !mode.results.empty() && mode.results[0] == Form::Whole ? whole : 0);
    // Sent out and back: two collectives.
    if (const auto &routed = routing[costs.modes.size() - 1])
      modes[1] =
          2 + static_cast<double>(routed->rowBytes + routed->returnedBytes) /
                  static_cast<double>(widest);
  }
  // By rows where any op behind the sum can be so; but a sum that is only
  // needed whole stays one all_reduce, and of two ops that read one value it is
  // the value that is gathered.
  for (int64_t bytes : rowBytes) {
    double width = static_cast<double>(bytes) / static_cast<double>(widest);
    double part = 1 + width;
    costs.conversions.push_back({part, 2 * part - 0.5, part});
  }
  costs.pieces.assign(graph.pieces.size(), kNever);
  return costs;
}
