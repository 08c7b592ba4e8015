//===- ElementKernels.cpp - element by element ----------------------------===//
#include "Kernels.h"

using namespace layline;
using namespace layline::exact;

namespace {

/// Bits of a floating-point format.
struct Format {
  const char *name;
  int exponent, mantissa;
};

const Format *findFormat(const std::string &name) {
  static const Format formats[] = {{"f64", 11, 52},    {"f32", 8, 23},
                                   {"tf32", 8, 10},    {"bf16", 8, 7},
                                   {"f16", 5, 10},     {"f8E5M2", 5, 2},
                                   {"f8E4M3FN", 4, 3}, {"f4E2M1FN", 2, 1}};
  for (const Format &format : formats)
    if (name == format.name)
      return &format;
  return nullptr;
}

/// A cast that keeps every value; integers are exact in any.
bool isWidening(const std::string &from, const std::string &to) {
  const Format *a = findFormat(from), *b = findFormat(to);
  return from == to ||
         (a && b && a->exponent <= b->exponent && a->mantissa <= b->mantissa);
}

template <typename Function>
void forEach(KernelCall &call, const Function &function) {
  const LocalTensor &first = call.in(0);
  for (const Tensor &operand : call.operands)
    if (!call.require(operand->count() == first.count(),
                      "operands hold different numbers of elements"))
      return;
  LocalTensor::Data data(first.count());
  for (int64_t i = 0; i < first.count(); ++i)
    data[i] = function(i);
  call.set(first.shape, std::move(data));
}

template <typename Function>
void combine(KernelCall &call, const Function &function) {
  forEach(call, [&](int64_t i) {
    Element result = call.in(0).data()[i];
    for (size_t operand = 1; operand < call.operands.size(); ++operand)
      result = function(result, call.in(operand).data()[i]);
    return result;
  });
}

void cast(KernelCall &call) {
  const Attributes &attrs = call.attrs();
  bool isInteger = call.sampled.program->values[call.op.operands[0]].elements ==
                   ElementClass::Integer;
  if (isInteger || isWidening(attrs.from, attrs.to)) {
    call.results[0] = call.operands[0];
    return;
  }
  Hasher function("cast");
  function.add(attrs.to);
  forEach(call, [&](int64_t i) {
    return Hasher(function).add(call.in(0).data()[i]).element();
  });
}

/// Every row, or equal part of a row, times its scale.
void scaleRows(KernelCall &call) {
  const LocalTensor &values = call.in(0), &scales = call.in(1);
  int64_t groups = scales.last();
  int64_t width = groups == 0 ? 0 : values.last() / groups;
  if (!call.require(scales.count() * width == values.count(),
                    "the scales are not one a group of a row"))
    return;
  LocalTensor::Data data(values.count());
  for (int64_t i = 0; i < values.count(); ++i)
    data[i] = mul(values.data()[i], scales.data()[i / width]);
  call.set(values.shape, std::move(data));
}

} // namespace

void exact::elementwiseKernel(KernelCall &call) {
  Hasher activation("activation");
  activation.add(call.attrs().function).add(call.attrs().softcap);
  auto apply = [&](int64_t i) {
    return Hasher(activation).add(call.in(0).data()[i]).element();
  };
  switch (call.op.kind) {
  case OpKind::Activation:
    return forEach(call, apply);
  case OpKind::GatedActivation:
    return forEach(
        call, [&](int64_t i) { return mul(apply(i), call.in(1).data()[i]); });
  case OpKind::Add:
    return combine(call, [](Element a, Element b) { return add(a, b); });
  case OpKind::Mul:
    return combine(call, [](Element a, Element b) { return mul(a, b); });
  case OpKind::Scale: {
    Element factor = constantElement(call.attrs().factor);
    return forEach(
        call, [&](int64_t i) { return mul(call.in(0).data()[i], factor); });
  }
  case OpKind::Cast:
    return cast(call);
  case OpKind::Dequantize:
  case OpKind::RowScale:
    return scaleRows(call);
  default:
    return call.fail("no function of single elements");
  }
}

void exact::addBiasKernel(KernelCall &call) {
  const LocalTensor &x = call.in(0), &bias = call.in(1);
  LocalTensor::Data data(x.count());
  for (int64_t i = 0; i < x.count(); ++i)
    data[i] = add(x.data()[i], bias.data()[i % bias.count()]);
  call.set(x.shape, std::move(data));
}
