//===- ColumnKernels.cpp - windows of columns, columns side by side -------===//
#include "Kernels.h"
#include <algorithm>

using namespace layline;
using namespace layline::exact;

/// Where the rank stores the column that it has at local position `offset`, -1
/// if that one is not run.
static int64_t findOffset(const DimPart &part, int64_t offset) {
  auto at = std::find(part.offsets.begin(), part.offsets.end(), offset);
  return at == part.offsets.end() ? -1 : at - part.offsets.begin();
}

void exact::sliceColumnsKernel(KernelCall &call) {
  unsigned last = call.dims(-1) - 1;
  const DimPart &from = call.part({0, last}), &to = call.part({-1, last});
  std::vector<int64_t> positions;
  for (int64_t offset : to.offsets) {
    int64_t column = call.attrs().begin + offset;
    positions.push_back(findOffset(from, column));
    if (positions.back() < 0)
      return call.fail("column " + std::to_string(column) +
                       " is not in what the rank has of the operand");
  }
  call.results[0] = take(call, call.in(0), last, positions, to.size());
}

void exact::concatColumnsKernel(KernelCall &call) {
  unsigned last = call.dims(-1) - 1;
  const DimPart &to = call.part({-1, last});
  struct Source {
    size_t operand;
    int64_t column;
  };
  std::vector<Source> sources;
  for (int64_t offset : to.offsets) {
    int64_t column = offset;
    size_t operand = 0;
    auto width = [&] { return call.part({int(operand), last}).extent; };
    while (operand + 1 < call.operands.size() && column >= width())
      column -= width(), ++operand;
    int64_t at = findOffset(call.part({int(operand), last}), column);
    if (at < 0)
      return call.fail("column " + std::to_string(column) + " of operand " +
                       std::to_string(operand) +
                       " is not in what the rank has of it");
    sources.push_back({operand, at});
  }
  Shape shape = call.in(0).shape;
  shape[last] = to.size();
  int64_t rows = 1;
  for (unsigned dim = 0; dim < last; ++dim)
    rows *= shape[dim];
  LocalTensor::Data data;
  data.reserve(rows * shape[last]);
  for (int64_t r = 0; r < rows; ++r) {
    for (const Source &source : sources) {
      const LocalTensor &from = call.in(source.operand);
      data.push_back(from.data()[r * from.last() + source.column]);
    }
    for (int64_t i = 0; i < to.padStored; ++i)
      data.push_back(garbage(call, data.size()));
  }
  call.set(shape, std::move(data));
}
