#include "plan/Parse.h"

#include <algorithm>

namespace layline::runtime {

int Names::define(const Cursor &id) {
  auto [entry, isNew] =
      indices_.emplace(id.string(), static_cast<int>(indices_.size()));
  if (!isNew)
    id.fail(what_, " '", id.string(), "' is defined twice");
  return entry->second;
}

int Names::resolve(const Cursor &id) const {
  int index = find(id.string());
  if (index < 0)
    id.fail("names the ", what_, " '", id.string(), "', which is not defined");
  return index;
}

int Names::find(const std::string &id) const {
  auto found = indices_.find(id);
  return found == indices_.end() ? -1 : found->second;
}

namespace {

Expr parseSymbol(const Cursor &at, const PlanNames &names) {
  const std::string &symbol = at.string();
  if (symbol == "tokens")
    return {Expr::Op::Tokens, 0, {}};
  if (symbol == "past")
    return {Expr::Op::Past, 0, {}};
  if (symbol.rfind("rank.", 0) == 0)
    if (int axis = names.axes.find(symbol.substr(5)); axis >= 0)
      return {Expr::Op::Coordinate, axis, {}};
  at.fail("is '", symbol,
          "'; \"tokens\", \"past\" or \"rank.<axis of the mesh>\" is expected");
}

Expr parseOperation(const Cursor &at, const PlanNames &names) {
  struct Operation {
    const char *name;
    Expr::Op op;
    bool isVariadic;
  };
  static constexpr Operation kOperations[] = {
      {"add", Expr::Op::Add, true},
      {"sub", Expr::Op::Sub, false},
      {"mul", Expr::Op::Mul, true},
      {"floordiv", Expr::Op::FloorDiv, false},
      {"ceildiv", Expr::Op::CeilDiv, false},
      {"mod", Expr::Op::Mod, false},
      {"min", Expr::Op::Min, true},
      {"max", Expr::Op::Max, true}};
  if (at.size() == 0)
    at.fail("is an empty expression");
  const std::string &name = at.at(std::size_t{0}).string();
  if (name == "size" || name == "begin") {
    if (at.size() != 2)
      at.fail("'", name, "' takes one range id");
    int range = names.ranges.resolve(at.at(1));
    if (name == "size")
      return {Expr::Op::Size, range, {}};
    // A range that is still to be read may not be named at all.
    if (auto index = static_cast<std::size_t>(range);
        index < names.hasBegin.size() && !names.hasBegin[index])
      at.fail("takes the begin of range '", at.at(1).string(),
              "', whose parts are not one run of the dimension");
    return {Expr::Op::Begin, range, {}};
  }
  for (const Operation &operation : kOperations) {
    if (name != operation.name)
      continue;
    if (at.size() < 3 || (at.size() > 3 && !operation.isVariadic))
      at.fail("'", name, "' has ", at.size() - 1, " operands; two ",
              operation.isVariadic ? "or more " : "", "are expected");
    Expr expr{operation.op, 0, {}};
    for (std::size_t i = 1; i < at.size(); ++i)
      expr.operands.push_back(parseExpr(at.at(i), names));
    return expr;
  }
  at.fail("has the unknown operator '", name, "'");
}

} // namespace

Expr parseExpr(const Cursor &at, const PlanNames &names) {
  if (at.json().is_string())
    return parseSymbol(at, names);
  if (!at.json().is_array())
    return Expr::constant(at.integer());
  Expr expr = parseOperation(at, names);
  try {
    foldConstants(expr);
  } catch (const Error &error) {
    at.fail(error.what());
  }
  return expr;
}

ShapeExpr parseShape(const Cursor &at, const PlanNames &names) {
  ShapeExpr shape;
  for (std::size_t i = 0; i < at.size(); ++i) {
    shape.push_back(parseExpr(at.at(i), names));
    const Expr &dim = shape.back();
    if (uses(dim, {Expr::Op::Coordinate, Expr::Op::Size, Expr::Op::Begin}))
      at.at(i).fail("depends on the rank; a global shape is expected");
    if (dim.isConstant() && dim.value < 0)
      at.at(i).fail("is ", dim.value, "; a size is not negative");
  }
  return shape;
}

DType parseDType(const Cursor &at) {
  return choose<DType>(at, {{"bf16", DType::BF16},
                            {"f16", DType::F16},
                            {"f32", DType::F32},
                            {"f64", DType::F64},
                            {"i32", DType::I32},
                            {"i64", DType::I64},
                            {"fp8_e4m3", DType::Fp8E4M3},
                            {"fp8_e5m2", DType::Fp8E5M2}});
}

Layout parseLayout(const Cursor &at, const PlanNames &names) {
  Layout layout;
  Cursor dims = at.at("dims");
  for (std::size_t i = 0; i < dims.size(); ++i) {
    Cursor dim = dims.at(i);
    if (dim.json().is_null())
      layout.dims.emplace_back();
    else
      layout.dims.push_back(
          {names.ranges.resolve(dim.at("range")), dim.at("unit").integer()});
  }
  if (at.has("owes")) {
    Cursor owes = at.at("owes");
    for (std::size_t i = 0; i < owes.size(); ++i)
      layout.owes.push_back(names.axes.resolve(owes.at(i)));
    std::sort(layout.owes.begin(), layout.owes.end());
  }
  return layout;
}

namespace {

/// Calls `parse` for each element of a top-level list.
template <typename Parse> void forEach(const Cursor &list, const Parse &parse) {
  for (std::size_t i = 0; i < list.size(); ++i)
    parse(list.at(i));
}

Shape parseConstantShape(const Cursor &at) {
  Shape shape;
  forEach(at, [&](const Cursor &dim) { shape.push_back(dim.integer()); });
  return shape;
}

void parseSymbols(const Cursor &list, Plan &plan) {
  Names seen("symbol");
  forEach(list, [&](const Cursor &at) {
    seen.define(at.at("name"));
    Symbol &symbol =
        at.at("name").string() == "tokens" ? plan.tokens : plan.past;
    symbol = {at.at("min").integer(), at.at("max").integer()};
    if (symbol.min > symbol.max)
      at.fail("has min ", symbol.min, " above max ", symbol.max);
  });
  if (seen.find("tokens") < 0)
    list.fail("does not define 'tokens'");
}

void parseMesh(const Cursor &list, Plan &plan, PlanNames &names) {
  // Far above any real group, and low enough that no product overflows.
  constexpr std::int64_t kMaxRanks = 65536;
  std::int64_t ranks = 1;
  forEach(list, [&](const Cursor &at) {
    names.axes.define(at.at("axis"));
    plan.axes.push_back({at.at("axis").string(), at.at("size").integer()});
    if (plan.axes.back().size > kMaxRanks ||
        (ranks *= plan.axes.back().size) > kMaxRanks)
      at.fail("makes more than ", kMaxRanks, " ranks");
  });
}

void parseGroups(const Cursor &list, Plan &plan, PlanNames &names) {
  forEach(list, [&](const Cursor &at) {
    names.groups.define(at.at("id"));
    Group group;
    group.id = at.at("id").string();
    forEach(at.at("axes"), [&](const Cursor &axis) {
      int index = names.axes.resolve(axis);
      if (std::find(group.axes.begin(), group.axes.end(), index) !=
          group.axes.end())
        axis.fail("axis '", axis.string(), "' stands twice in group '",
                  group.id, "'");
      group.axes.push_back(index);
      group.ranks *= plan.axes[index].size;
    });
    std::sort(group.axes.begin(), group.axes.end());
    if (at.at("ranks").integer() != group.ranks)
      at.at("ranks").fail("is ", at.at("ranks").integer(),
                          "; the axes of group '", group.id, "' make ",
                          group.ranks);
    plan.groups.push_back(std::move(group));
  });
}

/// Whether `is` holds for the expression or a part of it.
template <typename Predicate>
bool anyTerm(const Expr &expr, const Predicate &is) {
  return is(expr) ||
         std::any_of(expr.operands.begin(), expr.operands.end(),
                     [&](const Expr &operand) { return anyTerm(operand, is); });
}

/// `begin` or `size` of a segment.
Expr parseBound(const Cursor &at, const Range &range, const Plan &plan,
                const PlanNames &names) {
  using Op = Expr::Op;
  Expr expr = parseExpr(at, names);
  auto isForeign = [&](const Expr &term) {
    return term.op == Op::Past || term.op == Op::Begin ||
           (term.op == Op::Size &&
            (!range.isNested() || term.value != range.within));
  };
  if (anyTerm(expr, isForeign)) {
    if (range.isNested())
      at.fail("may use 'tokens', 'rank.<axis>' and the size of range '",
              plan.ranges[range.within].id, "' only");
    at.fail("may use 'tokens' and 'rank.<axis>' only");
  }
  anyTerm(expr, [&](const Expr &term) {
    if (term.op == Op::Coordinate && term.value != range.axis)
      at.fail("uses the rank on axis '", plan.axes[term.value].name,
              "'; the range is over axis '", plan.axes[range.axis].name, "'");
    return false;
  });
  return expr;
}

Segment parseSegment(const Cursor &at, const Range &range, const Plan &plan,
                     const PlanNames &names) {
  Segment segment{parseBound(at.at("begin"), range, plan, names),
                  parseBound(at.at("size"), range, plan, names)};
  bool isStrided = range.kind == Range::Kind::Cyclic;
  for (const char *key : {"block", "stride"})
    if (at.has(key) != isStrided)
      at.fail(isStrided ? "has no '" : "has a '", key, "'; the range is ",
              kindName(range.kind));
  if (!isStrided)
    return segment;
  segment.block = at.at("block").integer();
  segment.stride = at.at("stride").integer();
  std::int64_t stride = checkedMul(plan.axes[range.axis].size, range.interleave,
                                   "stride of a range");
  if (segment.block != range.interleave)
    at.at("block").fail("is ", segment.block, "; the interleave ",
                        range.interleave, " is expected");
  if (segment.stride != stride)
    at.at("stride").fail("is ", segment.stride, "; ",
                         plan.axes[range.axis].size, " ranks x interleave ",
                         range.interleave, " = ", stride, " is expected");
  return segment;
}

/// The range whose items are dealt out: its place in the list.
int parseWithin(const Cursor &at, const Range &range, const Plan &plan,
                const PlanNames &names) {
  int within = names.ranges.resolve(at);
  if (within >= static_cast<int>(plan.ranges.size()))
    at.fail("names range '", at.string(),
            "', which does not stand earlier in the list");
  if (range.hasQueryHeads() || plan.ranges[within].hasQueryHeads())
    at.fail("nests ", kindName(range.kind), " in range '", at.string(),
            "' of kind ", kindName(plan.ranges[within].kind),
            "; KV heads are where their query heads are and are not dealt "
            "out again");
  std::vector<int> axes = plan.axesOf(within);
  if (std::find(axes.begin(), axes.end(), range.axis) != axes.end())
    at.fail("nests a range over axis '", plan.axes[range.axis].name,
            "' in range '", at.string(), "', which is over that axis too");
  return within;
}

void parseExtent(const Cursor &at, Range &range, const Plan &plan,
                 const PlanNames &names) {
  using Op = Expr::Op;
  range.extent = parseExpr(at, names);
  if (range.isNested()) {
    if (range.extent != Expr{Op::Size, range.within, {}})
      at.fail("of a range within '", plan.ranges[range.within].id,
              "' must be [\"size\", \"", plan.ranges[range.within].id, "\"]");
  } else if (uses(range.extent,
                  {Op::Past, Op::Coordinate, Op::Size, Op::Begin})) {
    at.fail("may use 'tokens' only");
  }
}

/// A key that exactly one kind has.
std::int64_t parseKindKey(const Cursor &range, const char *key, bool isOfKind,
                          const char *kind) {
  if (isOfKind)
    return range.at(key).integer();
  if (range.has(key))
    range.at(key).fail("belongs to kind '", kind, "' only");
  return 0;
}

Range parseRange(const Cursor &at, const Plan &plan, const PlanNames &names) {
  using Kind = Range::Kind;
  Range range;
  range.id = at.at("id").string();
  range.axis = names.axes.resolve(at.at("axis"));
  range.kind =
      choose<Kind>(at.at("kind"), {{"block", Kind::Block},
                                   {"readers", Kind::Readers},
                                   {"first_readers", Kind::FirstReaders},
                                   {"routed", Kind::Routed},
                                   {"zigzag", Kind::Zigzag},
                                   {"cyclic", Kind::Cyclic}});
  range.of = parseKindKey(at, "of", range.hasQueryHeads() || range.isRouted(),
                          "readers");
  range.interleave =
      parseKindKey(at, "interleave", range.kind == Kind::Cyclic, "cyclic");
  if (at.has("within"))
    range.within = parseWithin(at.at("within"), range, plan, names);
  parseExtent(at.at("extent"), range, plan, names);
  Cursor segments = at.at("segments");
  std::size_t expected = range.kind == Kind::Zigzag ? 2 : 1;
  if (segments.size() != expected)
    segments.fail("has ", segments.size(), " segments; ", kindName(range.kind),
                  " has ", expected);
  for (std::size_t i = 0; i < segments.size(); ++i)
    range.segments.push_back(parseSegment(segments.at(i), range, plan, names));
  return range;
}

void parseRanges(const Cursor &list, Plan &plan, PlanNames &names) {
  // Ids first, so that an expression that names a later range is refused for
  // what it is and not as unknown.
  forEach(list, [&](const Cursor &at) { names.ranges.define(at.at("id")); });
  forEach(list, [&](const Cursor &at) {
    plan.ranges.push_back(parseRange(at, plan, names));
    names.hasBegin.push_back(plan.ranges.back().isContiguous());
  });
}

void parseInputs(const Cursor &list, Plan &plan, PlanNames &names) {
  forEach(list, [&](const Cursor &at) {
    names.inputs.define(at.at("id"));
    Input input{at.at("id").string(), parseDType(at.at("dtype")),
                parseShape(at.at("shape"), names)};
    if (!isInteger(input.dtype))
      at.at("dtype").fail("is ", dtypeName(input.dtype),
                          "; inputs of format 1 are i32 or i64");
    plan.inputs.push_back(std::move(input));
  });
}

void parseCaches(const Cursor &list, Plan &plan, PlanNames &names) {
  forEach(list, [&](const Cursor &at) {
    names.caches.define(at.at("id"));
    Cache cache;
    cache.id = at.at("id").string();
    cache.layer = at.at("layer").integer();
    cache.plane = at.at("plane").string();
    cache.dtype = parseDType(at.at("dtype"));
    cache.rowShape = parseConstantShape(at.at("row_shape"));
    cache.layout = parseLayout(at.at("layout"), names);
    if (isInteger(cache.dtype) != (cache.plane == "positions"))
      at.at("dtype").fail("is ", dtypeName(cache.dtype), "; the plane is '",
                          cache.plane, "'");
    plan.caches.push_back(std::move(cache));
  });
}

RopeNumbers parseRopeNumbers(const Cursor &at) {
  RopeNumbers numbers;
  numbers.attentionFactor = at.at("attention_factor").number();
  forEach(at.at("inv_freq"),
          [&](const Cursor &f) { numbers.invFreq.push_back(f.number()); });
  return numbers;
}

void parseTables(const Cursor &list, Plan &plan, PlanNames &names) {
  forEach(list, [&](const Cursor &at) {
    names.tables.define(at.at("id"));
    Table table;
    table.id = at.at("id").string();
    table.numbers = parseRopeNumbers(at);
    if (at.has("long")) {
      Cursor longer = at.at("long");
      table.longAbove = longer.at("above").integer();
      table.longNumbers = parseRopeNumbers(longer);
      if (table.longNumbers->invFreq.size() != table.numbers.invFreq.size())
        longer.fail("has ", table.longNumbers->invFreq.size(), " frequencies; ",
                    table.numbers.invFreq.size(), " are expected");
    }
    plan.tables.push_back(std::move(table));
  });
}

void parseWeights(const Cursor &list, Plan &plan, PlanNames &names) {
  forEach(list, [&](const Cursor &at) {
    names.weights.define(at.at("id"));
    Weight weight;
    weight.id = at.at("id").string();
    weight.key = at.at("key").string();
    weight.dtype = parseDType(at.at("dtype"));
    weight.storedShape = parseConstantShape(at.at("stored_shape"));
    weight.shape = parseConstantShape(at.at("shape"));
    weight.layout = parseLayout(at.at("layout"), names);
    weight.bytesPerRank = at.at("bytes_per_rank").integer();
    if (at.has("rows")) {
      Cursor rows = at.at("rows");
      std::int64_t begin = rows.at(std::size_t{0}).integer();
      weight.rows = Part{begin, rows.at(1).integer() - begin};
    }
    if (at.has("period"))
      weight.period = at.at("period").integer();
    if (at.has("stored_stack"))
      weight.storedStack = at.at("stored_stack").boolean();
    if (at.has("transposed"))
      weight.isTransposed = at.at("transposed").boolean();
    if (at.has("stack")) {
      weight.stackName = at.at("stack").at("name").string();
      weight.stackCount = at.at("stack").at("count").integer();
    }
    plan.weights.push_back(std::move(weight));
  });
}

void parseFlagsAndKernels(const Cursor &root, Plan &plan, PlanNames &names) {
  forEach(root.at("flags"), [&](const Cursor &at) {
    names.flags.define(at.at("id"));
    Flag flag{at.at("id").string(), names.groups.resolve(at.at("group")), {}};
    if (at.has("key"))
      forEach(at.at("key"), [&](const Cursor &axis) {
        flag.key.push_back(names.axes.resolve(axis));
      });
    plan.flags.push_back(std::move(flag));
  });
  forEach(root.at("kernels"), [&](const Cursor &at) {
    names.kernels.define(at.at("id"));
    Kernel kernel;
    kernel.id = at.at("id").string();
    forEach(at.at("ops"), [&](const Cursor &op) {
      if (!findStepKind(op.string()))
        op.fail("'", op.string(), "' is not a step kind of format 1");
      kernel.ops.push_back(op.string());
      if (findStepKind(op.string())->isCollective &&
          !at.at("cooperative").boolean())
        at.at("cooperative")
            .fail("is false; the kernel contains the collective '", op.string(),
                  "', in which its blocks wait for other ranks");
    });
    if (at.has("group"))
      kernel.group = names.groups.resolve(at.at("group"));
    plan.kernels.push_back(std::move(kernel));
  });
}

} // namespace

Plan parsePlan(const nlohmann::json &document, const std::string &file) {
  Cursor root(document);
  Plan plan;
  PlanNames names;
  plan.file = file;
  plan.minorVersion = root.at("version").at("minor").integer();
  forEach(root.at("requires"), [&](const Cursor &feature) {
    plan.features.push_back(feature.string());
  });
  plan.dtype = parseDType(root.at("target").at("dtype"));
  parseSymbols(root.at("symbols"), plan);
  parseMesh(root.at("mesh"), plan, names);
  parseGroups(root.at("groups"), plan, names);
  parseRanges(root.at("ranges"), plan, names);
  parseInputs(root.at("inputs"), plan, names);
  parseCaches(root.at("caches"), plan, names);
  parseTables(root.at("tables"), plan, names);
  parseWeights(root.at("weights"), plan, names);
  parseFlagsAndKernels(root, plan, names);
  forEach(root.at("streams"), [&](const Cursor &at) {
    names.streams.define(at.at("id"));
    plan.streams.push_back(at.at("id").string());
  });
  forEach(root.at("variants"), [&](const Cursor &at) {
    names.variants.define(at.at("id"));
    plan.variants.push_back(parseVariant(at, plan, names));
  });
  return plan;
}

} // namespace layline::runtime
