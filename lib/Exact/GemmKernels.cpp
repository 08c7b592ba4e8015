//===- GemmKernels.cpp - linear -------------------------------------------===//
#include "Kernels.h"

using namespace layline;
using namespace layline::exact;

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
      y = dotProduct(x.data() + r * in, w.data() + o * in, in);
      if (call.operands.size() == 3)
        y = add(y, call.in(2).data()[o]);
    }
  call.set(shape, std::move(data));
}
