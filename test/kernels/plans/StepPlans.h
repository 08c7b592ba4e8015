// Steps that are kernels of the catalogue, as plans write them: the same for
// device simt and device cuda. Some begin the Bench's
// variant, others follow.
#ifndef LAYLINE_TEST_KERNELS_PLANS_STEPPLANS_H
#define LAYLINE_TEST_KERNELS_PLANS_STEPPLANS_H

#include "KernelBench.h"

#include <cstdint>
#include <string>

namespace layline::test {

/// Begins. Outputs "sent", rows of `width`, and "ids": both are the root's, -1
/// for the last rank.
void addBroadcasts(Bench &bench, std::int64_t root, std::int64_t width);

/// The rank's rows of a value, by `block` of its first dimension, and all of
/// them again, which are returned.
std::string addGather(Bench &bench, const std::string &x,
                      const std::string &dtype, const Json &shape,
                      const Json &block, const std::string &group = "tp");

/// Begins. Output "y": the rank's rows of two heads of 24 features, of which
/// `rotary` are rotated by a table that has other numbers from position 100 on.
void addRope(Bench &bench, const std::string &style, int rotary,
             bool isInPlace = false);

/// Each row's `top` largest logits of [tokens, experts]: ids and weights, both
/// by `block` of the rows (null: all).
struct Choice {
  std::string ids, weights;
};
Choice addRouter(Bench &bench, const std::string &logits, int top,
                 const Json &block = nullptr);

/// Experts dealt out over the ranks.
class Experts {
public:
  /// Before begin().
  Experts(Bench &bench, int count, int inner, int width);
  /// What those that `ids` choose owe to `output`, weighted.
  void add(const std::string &x, const Json &ids, const std::string &weights,
           const std::string &output) const;

private:
  Bench &bench_;
  std::string gate_, up_, down_;
};

/// Moves a finished plan's values of this type so many bytes on in their
/// arenas.
void shiftValues(Json &plan, const std::string &dtype, std::int64_t bytes);

} // namespace layline::test

#endif // LAYLINE_TEST_KERNELS_PLANS_STEPPLANS_H
