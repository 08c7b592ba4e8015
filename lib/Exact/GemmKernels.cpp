//===- GemmKernels.cpp - linear and experts -------------------------------===//
#include "Kernels.h"

using namespace layline;
using namespace layline::exact;

static Element dot(const Element *a, const Element *b, int64_t count) {
  DotProduct sum;
  for (int64_t i = 0; i < count; ++i)
    sum.add(a[i], b[i]);
  return sum.get();
}

void exact::linearKernel(KernelCall &call) {
  const LocalTensor &x = call.in(0), &w = call.in(1);
  int64_t in = w.dim(1), out = w.dim(0);
  Shape shape = x.shape;
  shape.back() = out;
  int64_t rows = 1;
  for (size_t dim = 0; dim + 1 < shape.size(); ++dim)
    rows *= shape[dim];
  LocalTensor::Data data(rows * out);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t o = 0; o < out; ++o) {
      Element &y = data[r * out + o];
      y = dot(x.data() + r * in, w.data() + o * in, in);
      if (call.operands.size() == 3)
        y = add(y, call.in(2).data()[o]);
    }
  call.set(shape, std::move(data));
}

void exact::expertsKernel(KernelCall &call) {
  const LocalTensor &x = call.in(0), &ids = call.in(1), &weights = call.in(2),
                    &gate = call.in(3), &up = call.in(4), &down = call.in(5);
  const DimPart &experts = call.part({3, 0});
  int64_t rows = x.dim(0), slots = ids.dim(1);
  int64_t features = gate.dim(1), in = gate.dim(2), out = down.dim(1);
  Hasher function("activation");
  function.add(call.attrs().function);
  LocalTensor::Data data(rows * out);
  std::vector<Element> inner(features);
  for (int64_t t = 0; t < rows; ++t)
    for (int64_t k = 0; k < slots; ++k) {
      if (!isSampled(call, call.op.operands[3], ids.data()[t * slots + k]))
        return call.fail("id " + std::to_string(ids.data()[t * slots + k]) +
                         " of row " + std::to_string(t) + " is no expert");
      // Experts of other ranks are skipped: the result owes the sum.
      int64_t e = experts.find(int64_t(ids.data()[t * slots + k]));
      if (e < 0)
        continue;
      for (int64_t f = 0; f < features; ++f) {
        int64_t row = (e * features + f) * in;
        Element g = dot(x.data() + t * in, gate.data() + row, in);
        Element u = dot(x.data() + t * in, up.data() + row, in);
        inner[f] = mul(Hasher(function).add(g).element(), u);
      }
      for (int64_t o = 0; o < out; ++o) {
        Element y =
            dot(inner.data(), down.data() + (e * out + o) * features, features);
        data[t * out + o] =
            add(data[t * out + o], mul(weights.data()[t * slots + k], y));
      }
    }
  call.set({rows, out}, std::move(data));
}
