// Rows of a mixture's experts: choices sorted by expert, rows in that order,
// and the weighted sums, as the kernels of the local side must give them.
#ifndef LAYLINE_TEST_KERNELS_HARNESS_EXPERTROWS_H
#define LAYLINE_TEST_KERNELS_HARNESS_EXPERTROWS_H

#include <cstdint>
#include <string>
#include <vector>

namespace layline::kernels::test {

struct ExpertCase {
  std::int64_t tokens;
  int chosen, experts, firstExpert, localExperts;
  int width;
  bool hasShared;
  float scale = 2.5F;
};

template <typename T> struct ExpertInputs {
  std::vector<std::int32_t> ids; ///< [tokens][chosen]; holes are -1
  std::vector<float> weights;    ///< [tokens][chosen]
  std::vector<T> rows, shared;   ///< [tokens][width]
};
template <typename T>
ExpertInputs<T> makeExpertInputs(const ExpertCase &experts, std::uint32_t salt);

/// The stable order by expert (ExpertParams).
struct ExpertOrder {
  std::vector<std::int64_t> places, offsets;
};
ExpertOrder orderOf(const ExpertCase &experts,
                    const std::vector<std::int32_t> &ids);

template <typename T> struct ExpertResults {
  std::vector<std::int64_t> places, offsets;
  std::vector<T> sorted; ///< [offsets[experts]][width]
  std::vector<T> merged; ///< [tokens][width], of `sorted` as results
};
/// The first number that is another than it must be, or nothing: no product is
/// fused with a sum, so that a kernel's bits are these.
template <typename T>
std::string differenceOf(const ExpertCase &experts,
                         const ExpertInputs<T> &inputs,
                         const ExpertResults<T> &got);

} // namespace layline::kernels::test

#endif // LAYLINE_TEST_KERNELS_HARNESS_EXPERTROWS_H
