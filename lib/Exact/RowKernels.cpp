//===- RowKernels.cpp - norm and quantisation --------------------------===//
#include "Kernels.h"
#include <algorithm>

using namespace layline;
using namespace layline::exact;

/// rms: y_j = x_j (offset + w_j) h(row); layer: the same of x - mean, + b_j.
void exact::normKernel(KernelCall &call) {
  const LocalTensor &x = call.in(0), &w = call.in(1);
  const LocalTensor *bias = call.operands.size() > 2 ? &call.in(2) : nullptr;
  bool isLayer = call.attrs().function == "layer";
  Element offset = constantElement(call.attrs().weightOffset);
  int64_t width = x.last(), rows = width == 0 ? 0 : x.count() / width;
  Element perElement = inverse(Element(width));
  Hasher function(isLayer ? "layer norm" : "norm");
  function.add(call.attrs().function).add(call.attrs().eps);
  LocalTensor::Data data(x.values);
  for (int64_t r = 0; r < rows; ++r) {
    Element *y = data.data() + r * width;
    if (isLayer) {
      Element mean = 0;
      for (int64_t i = 0; i < width; ++i)
        mean = add(mean, y[i]);
      mean = mul(mean, perElement);
      for (int64_t i = 0; i < width; ++i)
        y[i] = sub(y[i], mean);
    }
    Element scale = Hasher(function).add(y, width).element();
    for (int64_t i = 0; i < width; ++i) {
      // A weight of several rows belongs to the last dimensions together.
      int64_t at = (r * width + i) % w.count();
      y[i] = mul(mul(y[i], scale), add(offset, w.data()[at]));
      if (bias)
        y[i] = add(y[i], bias->data()[(r * width + i) % bias->count()]);
    }
  }
  call.set(x.shape, std::move(data));
}

/// A sum of squares is one in the field too, so that addends of it may be
/// summed in any order.
void exact::rowSquaresKernel(KernelCall &call) {
  const LocalTensor &x = call.in(0);
  int64_t rows = x.dim(0), width = x.dim(1);
  LocalTensor::Data sums(rows);
  for (int64_t t = 0; t < rows; ++t) {
    const Element *row = x.data() + t * width;
    sums[t] = 0;
    for (int64_t i = 0; i < width; ++i)
      sums[t] = add(sums[t], mul(row[i], row[i]));
  }
  call.set({rows, 1}, std::move(sums));
}

/// y_j = x_j w_j h(statistic, width, eps).
void exact::normByKernel(KernelCall &call) {
  const LocalTensor &x = call.in(0), &statistics = call.in(1), &w = call.in(2);
  int64_t rows = x.dim(0), width = x.dim(1);
  if (!call.require(statistics.count() == rows && w.count() == width,
                    "there is not one statistic a row and one weight a "
                    "feature"))
    return;
  Hasher function("norm by");
  function.add(uint64_t(call.attrs().width)).add(call.attrs().eps);
  LocalTensor::Data data(x.values);
  for (int64_t t = 0; t < rows; ++t) {
    Element scale = Hasher(function).add(statistics.data()[t]).element();
    for (int64_t i = 0; i < width; ++i)
      data[t * width + i] = mul(mul(data[t * width + i], scale), w.data()[i]);
  }
  call.set(x.shape, std::move(data));
}

void exact::quantizeKernel(KernelCall &call) {
  const LocalTensor &x = call.in(0);
  // A rank holds whole groups, and of each as many of the features that are
  // run. A group is taken for a row of its own.
  Shape scaleShape = call.resultShape(1);
  int64_t groups = scaleShape.size() == 0 ? 0 : scaleShape.back();
  int64_t width = groups == 0 ? 0 : x.last() / groups;
  int64_t rows = width == 0 ? 0 : x.count() / width;
  LocalTensor::Data values(x.count()), scales(rows);
  for (int64_t r = 0; r < rows; ++r) {
    const Element *row = x.data() + r * width;
    scales[r] = Hasher("quantisation scale")
                    .add(call.attrs().format)
                    .add(row, width)
                    .element();
    Hasher function("quantised");
    function.add(call.attrs().format).add(scales[r]);
    for (int64_t i = 0; i < width; ++i)
      values[r * width + i] = Hasher(function).add(row[i]).element();
  }
  Shape expected = x.shape;
  if (expected.size() > 0)
    expected.back() = groups;
  call.set(x.shape, std::move(values), 0);
  if (call.require(rows * width == x.count() && scaleShape == expected,
                   "the scales are not one a group of a row"))
    call.set(scaleShape, std::move(scales), 1);
}
