// The products of a mixture's experts, apart from how their rows are brought
// together.
#ifndef LAYLINE_RUNTIME_DEVICES_CPU_EXPERTPRODUCTS_H
#define LAYLINE_RUNTIME_DEVICES_CPU_EXPERTPRODUCTS_H

#include "devices/cpu/RankContext.h"

#include <cstdint>
#include <vector>

namespace layline::runtime {

/// Of one `experts` step on one rank, which holds experts [first, first +
/// local()) of `count`.
template <typename T> struct ExpertProducts {
  ExpertProducts(RankContext<T> &rank, const Step &of);

  std::int64_t local() const { return gate.dim(0); }
  /// y = down(f(gate x) * (up x)) by the rank's expert number e, for rows one
  /// behind another.
  void run(std::int64_t e, std::int64_t rows, const T *x, T *y);
  /// Whether a row was dispatched to this rank; all are where none is. Throws
  /// Error for an id that is no expert.
  bool isHere(const Tensor<std::int64_t> &ids, std::int64_t row) const;

  RankContext<T> &context;
  const Step &step;
  Tensor<const T> gate, up, down;
  std::int64_t count, first;

private:
  std::vector<T> g_, u_;
};

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_DEVICES_CPU_EXPERTPRODUCTS_H
