#include "plan/Check.h"

#include "plan/StepContract.h"

#include <algorithm>

namespace layline::runtime {
namespace {

bool contains(const std::vector<int> &axes, int axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

/// Only between a dispatch and a combine are rows where their experts are.
void notRouted(const Plan &plan, const Layout &layout) {
  for (const DimLayout &dim : layout.dims)
    if (dim.isSplit() && plan.ranges[dim.range].isRouted())
      invalid("has rows routed by range '", plan.ranges[dim.range].id,
              "'; a rank would have only those of its experts");
}

/// A layout fits its shape: one entry per dimension, extent x unit the size of
/// the dimension, every axis used once. A nested range uses the axes of all the
/// ranges around it too.
void checkLayout(const Plan &plan, const ShapeExpr &shape,
                 const Layout &layout) {
  if (layout.dims.size() != shape.size())
    invalid("has ", shape.size(), " dimensions and a layout of ",
            layout.dims.size());
  std::vector<int> used = layout.owes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const DimLayout &dim = layout.dims[i];
    if (!dim.isSplit())
      continue;
    // Of routed rows every rank has an addend, of those that it has.
    const Range &range = plan.ranges[dim.range];
    bool owesRouted = range.isRouted() && contains(layout.owes, range.axis);
    if (range.isRouted() && (i != 0 || dim.unit != 1))
      invalid("splits dimension ", i, " by range '", range.id,
              "', by which only rows are routed, one by one");
    for (int axis : plan.axesOf(dim.range))
      if (!owesRouted || axis != range.axis)
        used.push_back(axis);
    Expr expected{
        Expr::Op::Mul, 0, {plan.extentOf(dim.range), Expr::constant(dim.unit)}};
    foldConstants(expected);
    if (!sameSize(expected, shape[i]))
      invalid("splits dimension ", i, " of size ", print(shape[i]),
              " by range '", plan.ranges[dim.range].id,
              "', whose extent x unit is ", print(expected));
  }
  std::sort(used.begin(), used.end());
  if (auto twice = std::adjacent_find(used.begin(), used.end());
      twice != used.end())
    invalid("uses axis '", plan.axes[*twice].name, "' twice in the layout ",
            print(layout, plan));
}

/// The most elements that any rank holds. Every split dimension has axes of its
/// own, so the largest parts meet on some rank.
std::int64_t mostElements(const Plan &plan, const ShapeExpr &shape,
                          const Layout &layout, std::int64_t tokens) {
  Environment environment;
  environment.tokens = tokens;
  std::int64_t count = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    std::int64_t most = 0;
    const DimLayout &dim = layout.dims[i];
    if (!dim.isSplit()) {
      most = evaluate(shape[i], environment);
      if (most < 0)
        invalid("has the size ", most, " in dimension ", i, " for ", tokens,
                " tokens");
    } else {
      plan.forEachSetting(
          plan.axesOf(dim.range),
          [&](const std::vector<std::int64_t> &coordinates) {
            most =
                std::max(most, plan.part(dim.range, tokens, coordinates).size);
          });
      most = checkedMul(most, dim.unit, "size of a part");
    }
    count = checkedMul(count, most, "size of a tensor");
  }
  return count;
}

void checkWeight(const Plan &plan, const Weight &weight) {
  std::size_t outer = weight.storedStack ? 1 : 0;
  if (weight.isTransposed ? weight.storedShape.size() != outer + 2
                          : weight.storedShape.size() < outer)
    invalid("is stored as ", print(weight.storedShape), "; ",
            weight.storedStack ? "a stack of " : "",
            weight.isTransposed ? "columns and rows are" : "tensors is",
            " expected");
  if (weight.storedStack && !weight.stackName.empty())
    invalid("is one tensor of all and stacked over '", weight.stackName, "'");
  Shape shape = weight.storedMatrix();
  std::int64_t storedRows = shape.empty() ? 0 : shape[0];
  if (weight.rows) {
    if (shape.empty() || weight.rows->size <= 0 ||
        weight.rows->end() > shape[0])
      invalid("takes rows [", weight.rows->begin, ", ", weight.rows->end(),
              ") of a stored tensor of shape ", print(shape));
    shape[0] = weight.rows->size;
  }
  if (weight.period != 0) {
    if (!weight.rows || weight.rows->end() > weight.period ||
        storedRows % weight.period != 0)
      invalid("takes a window of every ", weight.period,
              " rows of a stored tensor of shape ", print(weight.storedShape),
              "; a window inside a period that divides its rows is expected");
    shape[0] *= storedRows / weight.period;
  }
  std::string placeholder = "{" + weight.stackName + "}";
  bool isStack = !weight.stackName.empty();
  if (isStack && weight.key.find(placeholder) == std::string::npos)
    invalid("is stacked over '", weight.stackName, "' and its key '",
            weight.key, "' has no ", placeholder);
  if (isStack)
    shape.insert(shape.begin(), weight.stackCount);
  if (weight.storedStack)
    shape.insert(shape.begin(), weight.storedShape[0]);
  if (shape != weight.shape)
    invalid("has shape ", print(weight.shape),
            "; its stored shape, rows, period and stack make ", print(shape));
  if (isInteger(weight.dtype))
    invalid("has dtype ", dtypeName(weight.dtype),
            "; weights are floating-point");
  ShapeExpr global = constantShape(weight.shape);
  checkLayout(plan, global, weight.layout);
  notRouted(plan, weight.layout);
  if (!weight.layout.owes.empty())
    invalid("owes a sum; weights owe nothing");
  std::int64_t bytes =
      checkedMul(mostElements(plan, global, weight.layout, plan.tokens.min),
                 dtypeBytes(weight.dtype), "bytes of a weight");
  if (bytes != weight.bytesPerRank)
    invalid("has bytes_per_rank ", weight.bytesPerRank,
            "; the rank with most of it holds ", bytes);
}

void checkCache(const Plan &plan, const Cache &cache) {
  checkLayout(plan, cacheShape(cache), cache.layout);
  if (!cache.layout.owes.empty())
    invalid("owes a sum; caches owe nothing");
  if (cache.layout.dims[0].isSplit())
    invalid("splits its rows; format 1 holds them whole on every rank");
}

void checkInputBuffer(const Plan &plan, const Buffer &buffer) {
  const Input &input = plan.inputs[buffer.input];
  bool same = input.shape.size() == buffer.shape.size();
  for (std::size_t i = 0; same && i < input.shape.size(); ++i)
    same = sameSize(input.shape[i], buffer.shape[i]);
  if (!same || input.dtype != buffer.dtype)
    invalid("is ", dtypeName(buffer.dtype), " ", print(buffer.shape),
            "; input '", input.id, "' is ", dtypeName(input.dtype), " ",
            print(input.shape));
  if (!buffer.layout.owes.empty())
    invalid("owes a sum; inputs owe nothing");
  notRouted(plan, buffer.layout);
}

void checkBuffer(const Plan &plan, const Variant &variant,
                 const Buffer &buffer) {
  checkLayout(plan, buffer.shape, buffer.layout);
  for (const Expr &dim : buffer.shape)
    if (uses(dim, {Expr::Op::Past}))
      invalid("has a size that depends on 'past'; only caches grow with it");
  if (isInteger(buffer.dtype) && !buffer.layout.owes.empty())
    invalid("is ", dtypeName(buffer.dtype), " and owes a sum");
  if (buffer.kind == Buffer::Class::Input)
    return checkInputBuffer(plan, buffer);
  const Arena &arena = variant.arenas[buffer.arena];
  const char *expected = buffer.kind == Buffer::Class::Register ? "register"
                         : isInteger(buffer.dtype)              ? "int"
                         : isQuantized(buffer.dtype)            ? "narrow"
                                                                : "float";
  if (arena.id != expected)
    invalid("is in arena '", arena.id, "'; '", expected, "' is expected");
  for (std::int64_t tokens : {variant.minTokens, variant.maxTokens}) {
    std::int64_t bytes =
        checkedMul(mostElements(plan, buffer.shape, buffer.layout, tokens),
                   dtypeBytes(buffer.dtype), "bytes of a buffer");
    if (bytes > buffer.bytes)
      invalid("has ", buffer.bytes, " bytes; ", tokens, " tokens need ", bytes);
  }
  if (buffer.offset % dtypeBytes(buffer.dtype) != 0)
    invalid("begins at byte ", buffer.offset, ", which is no multiple of ",
            dtypeBytes(buffer.dtype));
  if (buffer.offset > arena.bytes || buffer.bytes > arena.bytes - buffer.offset)
    invalid("is at bytes [", buffer.offset, ", ", buffer.offset, " + ",
            buffer.bytes, ") of arena '", arena.id, "', which has ",
            arena.bytes);
}

/// Puts "what 'id': " before a finding's text.
template <typename Check>
void named(Findings &findings, const std::string &who, const Check &check) {
  findings.of([&] {
    try {
      check();
    } catch (const Error &error) {
      invalid(who, ": ", error.what());
    }
  });
}

} // namespace

void checkStorage(const Plan &plan, Findings &findings) {
  for (const Weight &weight : plan.weights)
    named(findings, "weight '" + weight.id + "'",
          [&] { checkWeight(plan, weight); });
  for (const Cache &cache : plan.caches)
    named(findings, "cache '" + cache.id + "'",
          [&] { checkCache(plan, cache); });
  for (const Variant &variant : plan.variants) {
    for (const Buffer &buffer : variant.buffers)
      named(findings,
            "variant '" + variant.id + "', buffer '" + buffer.id + "'",
            [&] { checkBuffer(plan, variant, buffer); });
    for (const Output &output : variant.outputs)
      named(findings,
            "variant '" + variant.id + "', output '" + output.id + "'", [&] {
              const Buffer &buffer = variant.buffers[output.buffer];
              if (buffer.kind != Buffer::Class::Output)
                invalid("is buffer '", buffer.id,
                        "', whose class is not 'output'");
              notRouted(plan, buffer.layout);
              if (!buffer.layout.owes.empty())
                invalid("is buffer '", buffer.id, "', which owes a sum over ",
                        printAxes(buffer.layout.owes, plan),
                        "; outputs owe nothing");
            });
  }
}

} // namespace layline::runtime
