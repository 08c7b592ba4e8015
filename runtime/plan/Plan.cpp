#include "plan/Plan.h"

#include "plan/Error.h"

#include <algorithm>

namespace layline::runtime {

std::int64_t dtypeBytes(DType dtype) {
  switch (dtype) {
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
  }
  return "?";
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

const Operand *Step::find(const char *argument) const {
  const std::vector<Operand> &operands = list(argument);
  return operands.empty() ? nullptr : &operands.front();
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

std::vector<Part>
Plan::parts(std::int64_t tokenCount,
            const std::vector<std::int64_t> &rankCoordinates) const {
  Environment environment;
  environment.tokens = tokenCount;
  environment.coordinates = rankCoordinates.data();
  std::vector<Part> result;
  result.reserve(ranges.size());
  for (const Range &range : ranges)
    result.push_back({evaluate(range.begin, environment),
                      evaluate(range.size, environment)});
  return result;
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
