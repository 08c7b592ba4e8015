// Faults of one_shot's mailboxes.
#include "faults/RunFaulty.h"

namespace layline::kernels::test {
namespace {

struct OneWord : Sound {
  static bool complete(const Vec16 &v, std::uint32_t poison) {
    return v.w != poison;
  }
};
struct NeverEmptied : Sound {
  static std::int64_t to_empty(std::uint64_t, std::int64_t) { return 0; }
};
struct OwnExtentEmptied : Sound {
  static std::int64_t to_empty(std::uint64_t filled, std::int64_t now) {
    // Of the first launch there is nothing before it.
    return filled ? now : 0;
  }
};
struct TwoBoxes : Sound {
  static constexpr std::uint32_t kBoxes = 2;
};
struct NegativeZeroSent : Sound {
  static std::uint32_t payload(std::uint32_t word, std::uint32_t) {
    return word;
  }
};
/// As a card that flushes subnormals compares floats.
struct ComparedAsNumbers : Sound {
  static bool isEmpty(std::uint32_t word) { return (word & 0x7f800000U) == 0; }
  static bool complete(const Vec16 &v, std::uint32_t) {
    return !isEmpty(v.x) && !isEmpty(v.y) && !isEmpty(v.z) && !isEmpty(v.w);
  }
};
struct EmptyLaunchCounts : Sound {
  static bool counts(std::int64_t) { return true; }
};
struct RelaxedArrival : Sound {
  static std::uint32_t arrive(std::uint32_t *arrived) {
    return atom_add_relaxed_gpu(arrived, 1);
  }
};
struct OwnRankFirst : Sound {
  static int addend(int place, int rank, int ranks) {
    return (place + rank) % ranks;
  }
};

/// Addends with rows of one bit pattern.
Outcome runPattern(Mode mode, std::uint64_t seed, void (*function)(),
                   std::uint32_t bits) {
  RowCase rowCase = faultCase<float>(Family::OneShot);
  auto inputs = makeInputs<float>(rowCase, static_cast<std::uint32_t>(seed));
  for (auto &launch : inputs.rows)
    for (auto &rows : launch)
      std::fill_n(rows.begin(), 32, device::float_of_bits(bits));
  return runCase<float>(rowCase, inputs, mode, seed, function);
}

Outcome runSizes(Mode mode, std::uint64_t seed, void (*function)(),
                 const std::vector<std::int64_t> &sizes) {
  std::vector<SequenceStep<bf16>> steps;
  std::vector<RowResults<bf16>> want;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    RowCase rowCase = faultCase(Family::OneShot);
    rowCase.launches = 1;
    rowCase.problem.tokens = sizes[i];
    rowCase.problem.hasResidual = rowCase.problem.keepsResidual = false;
    auto inputs =
        makeInputs<bf16>(rowCase, static_cast<std::uint32_t>(seed * 100 + i));
    want.push_back(expectOrdered(rowCase, inputs));
    steps.push_back({rowCase, inputs, function});
  }
  WorkspaceNeed need;
  need.ranks = kFaultRanks;
  need.maxBlocks = 8;
  need.maxOneShotBytes = 8 * 64 * 2;
  Cluster cluster(kFaultRanks, optionsOf(mode, seed, 2), need);
  std::vector<RowResults<bf16>> got;
  simt::Report report = runSequence<bf16, kFaultRanks>(cluster, steps, got);
  std::string difference;
  for (std::size_t i = 0; report.ok() && i < got.size(); ++i)
    if (difference.empty())
      difference = differenceOf(got[i], want[i]);
  return outcomeOf(report, difference);
}

template <typename Protocol>
Fault sizesFault(const std::string &name, const std::string &what,
                 const std::vector<std::int64_t> &sizes) {
  auto run = [=](void (*function)()) {
    return [=](Mode mode, std::uint64_t seed) {
      return runSizes(mode, seed, function, sizes);
    };
  };
  return {name, "one_shot", what, run(oneShotKernel<Protocol>()),
          run(oneShotKernel<Sound>())};
}

template <typename Protocol>
Fault patternFault(const std::string &name, const std::string &what,
                   std::uint32_t bits) {
  auto run = [=](void (*function)()) {
    return [=](Mode mode, std::uint64_t seed) {
      return runPattern(mode, seed, function, bits);
    };
  };
  return {name, "one_shot", what, run(oneShotKernel<Protocol, float>()),
          run(oneShotKernel<Sound, float>())};
}

} // namespace

std::vector<Fault> oneShotFaults() {
  std::vector<Fault> faults;
  faults.push_back(oneShotFault<OneWord>(
      "one-word-checked", "a vector counts as arrived when its last word has"));
  faults.push_back(oneShotFault<NeverEmptied>(
      "never-emptied", "boxes are not filled with the sentinel again"));
  faults.push_back(oneShotFault<TwoBoxes>(
      "two-boxes", "two boxes in turn in place of three"));
  faults.push_back(patternFault<NegativeZeroSent>(
      "negative-zero-sent", "a payload of -0.0 looks like an empty box",
      0x80000000U));
  faults.push_back(patternFault<ComparedAsNumbers>(
      "compared-as-numbers",
      "the sentinel is compared as a number, subnormals flushed", 0x80000001U));
  faults.push_back(sizesFault<OwnExtentEmptied>(
      "own-extent-emptied",
      "this launch's extent is emptied of the last one's box",
      {6, 2, 5, 6, 3, 6}));
  faults.push_back(sizesFault<EmptyLaunchCounts>(
      "empty-launch-counts", "launches without rows move on to the next box",
      {2, 0, 0, 3, 0, 2, 0, 3, 2}));
  faults.push_back(oneShotFault<RelaxedArrival>(
      "relaxed-arrival", "blocks are counted without release"));
  {
    auto run = [](void (*function)()) {
      return [=](Mode mode, std::uint64_t seed) {
        return runCase<float>(faultCase<float>(Family::OneShot), mode, seed,
                              function);
      };
    };
    faults.push_back({"own-rank-first", "one_shot",
                      "each rank sums from its own addend on",
                      run(oneShotKernel<OwnRankFirst, float>()),
                      run(oneShotKernel<Sound, float>())});
  }
  return faults;
}

} // namespace layline::kernels::test
