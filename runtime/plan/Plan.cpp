#include "plan/Plan.h"

#include "plan/Error.h"

#include <algorithm>

namespace layline::runtime {

std::int64_t dtypeBytes(DType dtype) {
  switch (dtype) {
  case DType::Fp8E4M3:
  case DType::Fp8E5M2:
    return 1;
  case DType::BF16:
  case DType::F16:
    return 2;
  case DType::F32:
  case DType::I32:
    return 4;
  case DType::F64:
  case DType::I64:
    return 8;
  }
  return 0;
}

const char *dtypeName(DType dtype) {
  switch (dtype) {
  case DType::BF16:
    return "bf16";
  case DType::F16:
    return "f16";
  case DType::F32:
    return "f32";
  case DType::F64:
    return "f64";
  case DType::I32:
    return "i32";
  case DType::I64:
    return "i64";
  case DType::Fp8E4M3:
    return "fp8_e4m3";
  case DType::Fp8E5M2:
    return "fp8_e5m2";
  }
  return "?";
}

const char *kindName(Range::Kind kind) {
  switch (kind) {
  case Range::Kind::Block:
    return "block";
  case Range::Kind::Readers:
    return "readers";
  case Range::Kind::FirstReaders:
    return "first_readers";
  case Range::Kind::Routed:
    return "routed";
  case Range::Kind::Zigzag:
    return "zigzag";
  case Range::Kind::Cyclic:
    return "cyclic";
  }
  return "?";
}

Shape Weight::storedMatrix() const {
  Shape matrix(storedShape.begin() + (storedStack ? 1 : 0), storedShape.end());
  if (isTransposed)
    std::swap(matrix[0], matrix[1]);
  return matrix;
}

std::vector<std::string> Weight::keys() const {
  if (stackName.empty())
    return {key};
  std::string placeholder = "{" + stackName + "}";
  std::size_t at = key.find(placeholder);
  std::vector<std::string> result;
  for (std::int64_t i = 0; i < stackCount; ++i)
    result.push_back(
        std::string(key).replace(at, placeholder.size(), std::to_string(i)));
  return result;
}

const std::vector<Operand> &Step::list(const char *argument) const {
  return args[static_cast<std::size_t>(info().argument(argument))];
}

const std::string &Step::name() const {
  static const std::string none;
  return names.empty() ? none : names.front();
}

const Operand &Step::arg(const char *argument) const {
  return list(argument).front();
}

bool Step::has(const char *attribute) const {
  const std::vector<AttributeSpec> &specs = info().attributes;
  for (std::size_t i = 0; i < specs.size(); ++i)
    if (specs[i].name == std::string_view(attribute))
      return attrs.given >> i & 1;
  return false;
}

const Operand *Step::find(const char *argument) const {
  const std::vector<Operand> &operands = list(argument);
  return operands.empty() ? nullptr : &operands.front();
}

bool Plan::hasFeature(std::string_view feature) const {
  return std::find(features.begin(), features.end(), feature) != features.end();
}

std::int64_t Plan::ranks() const {
  std::int64_t count = 1;
  for (const Axis &axis : axes)
    count *= axis.size;
  return count;
}

std::vector<std::int64_t> Plan::coordinates(std::int64_t rank) const {
  std::vector<std::int64_t> result(axes.size());
  for (std::size_t i = axes.size(); i-- > 0;) {
    result[i] = rank % axes[i].size;
    rank /= axes[i].size;
  }
  return result;
}

namespace {

/// `environment.parts` has the part of the range around a nested one.
Part partOf(const Range &range, const Environment &environment) {
  Part part{evaluate(range.segments.front().begin, environment), 0};
  for (const Segment &segment : range.segments)
    part.size = checkedAdd(part.size, evaluate(segment.size, environment),
                           "size of a part");
  return part;
}

void append(Items &items, Part run) {
  if (run.size <= 0)
    return;
  if (!items.empty() && items.back().end() == run.begin)
    items.back().size += run.size;
  else
    items.push_back(run);
}

/// The items at some positions of a list of items.
Items itemsAt(const Items &list, const Items &positions) {
  std::vector<std::int64_t> firsts; // position of each run's first item
  std::int64_t count = 0;
  for (Part run : list) {
    firsts.push_back(count);
    count += run.size;
  }
  Items result;
  for (Part wanted : positions) {
    if (wanted.begin < 0 || wanted.end() > count)
      invalid("positions [", wanted.begin, ", ", wanted.end(), ") of ", count,
              " items");
    auto at = static_cast<std::size_t>(
        std::upper_bound(firsts.begin(), firsts.end(), wanted.begin) -
        firsts.begin() - 1);
    for (; wanted.size > 0; ++at) {
      std::int64_t skipped = wanted.begin - firsts[at];
      std::int64_t taken = std::min(wanted.size, list[at].size - skipped);
      append(result, {list[at].begin + skipped, taken});
      wanted = {wanted.begin + taken, wanted.size - taken};
    }
  }
  return result;
}

} // namespace

std::vector<Part>
Plan::parts(std::int64_t tokenCount,
            const std::vector<std::int64_t> &rankCoordinates) const {
  std::vector<Part> result(ranges.size());
  Environment environment{tokenCount, 0, rankCoordinates.data(), result.data()};
  for (std::size_t i = 0; i < ranges.size(); ++i)
    result[i] = partOf(ranges[i], environment);
  return result;
}

Part Plan::part(int range, std::int64_t tokenCount,
                const std::vector<std::int64_t> &rankCoordinates) const {
  std::vector<int> outer;
  for (int r = ranges[range].within; r >= 0; r = ranges[r].within)
    outer.push_back(r);
  std::vector<Part> known(outer.empty() ? 0 : ranges.size());
  Environment environment{tokenCount, 0, rankCoordinates.data(), known.data()};
  for (std::size_t i = outer.size(); i-- > 0;)
    known[outer[i]] = partOf(ranges[outer[i]], environment);
  return partOf(ranges[range], environment);
}

Items Plan::ownItems(int range, const Environment &environment) const {
  Items items;
  for (const Segment &segment : ranges[range].segments) {
    std::int64_t begin = evaluate(segment.begin, environment),
                 size = evaluate(segment.size, environment);
    if (!segment.isStrided()) {
      append(items, {begin, size});
      continue;
    }
    for (std::int64_t done = 0; done < size; done += segment.block) {
      append(items, {begin, std::min(segment.block, size - done)});
      begin += segment.stride;
    }
  }
  return items;
}

Items Plan::items(int range, const Environment &environment) const {
  Items own = ownItems(range, environment);
  int outer = ranges[range].within;
  return outer < 0 ? own : itemsAt(items(outer, environment), own);
}

Items Plan::ownItems(int range, std::int64_t tokenCount,
                     const std::vector<std::int64_t> &rankCoordinates) const {
  std::vector<Part> all = parts(tokenCount, rankCoordinates);
  return ownItems(range, {tokenCount, 0, rankCoordinates.data(), all.data()});
}

Items Plan::items(int range, std::int64_t tokenCount,
                  const std::vector<std::int64_t> &rankCoordinates) const {
  std::vector<Part> all = parts(tokenCount, rankCoordinates);
  return items(range, {tokenCount, 0, rankCoordinates.data(), all.data()});
}

std::vector<int> Plan::axesOf(int range) const {
  std::vector<int> result;
  for (; range >= 0; range = ranges[range].within)
    result.push_back(ranges[range].axis);
  return result;
}

const Expr &Plan::extentOf(int range) const {
  while (ranges[range].isNested())
    range = ranges[range].within;
  return ranges[range].extent;
}

void Plan::forEachSetting(
    const std::vector<int> &settings,
    const std::function<void(const std::vector<std::int64_t> &)> &visit) const {
  std::vector<std::int64_t> at(axes.size(), 0);
  std::size_t i = 0;
  do {
    visit(at);
    for (i = 0;
         i < settings.size() && ++at[settings[i]] == axes[settings[i]].size;
         ++i)
      at[settings[i]] = 0;
  } while (i < settings.size());
}

const Variant *Plan::variantFor(std::int64_t tokenCount) const {
  for (const Variant &variant : variants)
    if (variant.minTokens <= tokenCount && tokenCount <= variant.maxTokens)
      return &variant;
  return nullptr;
}

const std::string &Plan::operandId(const Variant &variant,
                                   const Operand &operand) const {
  auto index = static_cast<std::size_t>(operand.index);
  switch (operand.of) {
  case Operand::Of::Buffer:
    return variant.buffers[index].id;
  case Operand::Of::Weight:
    return weights[index].id;
  case Operand::Of::Cache:
    return caches[index].id;
  case Operand::Of::Table:
    break;
  }
  return tables[index].id;
}

Shape localShape(const ShapeExpr &global, const Layout &layout,
                 const Environment &environment) {
  Shape shape(global.size());
  for (std::size_t i = 0; i < global.size(); ++i) {
    const DimLayout &dim = layout.dims[i];
    shape[i] = dim.isSplit() ? checkedMul(environment.parts[dim.range].size,
                                          dim.unit, "local shape")
                             : evaluate(global[i], environment);
    if (shape[i] < 0)
      invalid("shape ", print(global), " has a negative dimension ", shape[i],
              " for ", environment.tokens, " tokens");
  }
  return shape;
}

Shape globalShape(const ShapeExpr &global, const Environment &environment) {
  Shape shape;
  for (const Expr &dim : global)
    shape.push_back(evaluate(dim, environment));
  return shape;
}

std::int64_t elements(const Shape &shape) {
  std::int64_t count = 1;
  for (std::int64_t dim : shape)
    count = checkedMul(count, dim, "size of a tensor");
  return count;
}

ShapeExpr constantShape(const Shape &shape) {
  ShapeExpr result;
  for (std::int64_t dim : shape)
    result.push_back(Expr::constant(dim));
  return result;
}

ShapeExpr cacheShape(const Cache &cache) {
  ShapeExpr shape = constantShape(cache.rowShape);
  Expr rows{
      Expr::Op::Add, 0, {{Expr::Op::Past, 0, {}}, {Expr::Op::Tokens, 0, {}}}};
  shape.insert(shape.begin(), std::move(rows));
  return shape;
}

std::string print(const Shape &shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::string print(const ShapeExpr &shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + print(shape[i]);
  return text + "]";
}

std::string printAxes(const std::vector<int> &axes, const Plan &plan) {
  std::string text = "[";
  for (std::size_t i = 0; i < axes.size(); ++i)
    text += (i ? ", " : "") + plan.axes[axes[i]].name;
  return text + "]";
}

std::string print(const Layout &layout, const Plan &plan) {
  std::string text = "{dims [";
  for (std::size_t i = 0; i < layout.dims.size(); ++i) {
    const DimLayout &dim = layout.dims[i];
    text += i ? ", " : "";
    text += !dim.isSplit() ? "whole"
            : dim.unit == 1
                ? plan.ranges[dim.range].id
                : concat(plan.ranges[dim.range].id, " x ", dim.unit);
  }
  return text + "], owes " + printAxes(layout.owes, plan) + "}";
}

} // namespace layline::runtime
