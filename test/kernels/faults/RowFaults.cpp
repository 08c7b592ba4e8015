// Faults of row_collective's flags, rows and sums.
#include "faults/RunFaulty.h"

namespace layline::kernels::test {
namespace {

template <FlagKind kKind> struct RelaxedStore : Sound {
  static void signal(FlagKind kind, std::uint32_t *flag, std::uint32_t epoch) {
    if (kind == kKind)
      st_relaxed_sys(flag, epoch);
    else
      st_release_sys(flag, epoch);
  }
};
template <FlagKind kKind> struct RelaxedLoad : Sound {
  static std::uint32_t observe(FlagKind kind, const std::uint32_t *flag) {
    return kind == kKind ? ld_relaxed_sys(flag) : ld_acquire_sys(flag);
  }
};
struct DeviceScopeStore : Sound {
  static void signal(FlagKind, std::uint32_t *flag, std::uint32_t epoch) {
    st_release_gpu(flag, epoch);
  }
};
struct DeviceScopeLoad : Sound {
  static std::uint32_t observe(FlagKind, const std::uint32_t *flag) {
    return ld_acquire_gpu(flag);
  }
};
struct NoEntry : Sound {
  static constexpr bool kEntryBarrier = false;
};
struct NoExit : Sound {
  static constexpr bool kExitBarrier = false;
};
struct NoBarrierBeforeSignal : Sound {
  static void before_signal(FlagKind) {}
};
struct NoBarrierAfterWait : Sound {
  static bool after_wait(FlagKind, bool late) { return late; }
};
struct EpochStays : Sound {
  static std::uint32_t next_epoch(std::uint32_t last) { return last; }
};
struct UnsignedEpochs : Sound {
  static bool reached(std::uint32_t seen, std::uint32_t epoch) {
    return seen >= epoch;
  }
};
/// Every rank as many as the first, though there are not so many.
struct RowsRoundedUp : Sound {
  static RowBlock own_rows(std::int64_t rows, std::int64_t ranks,
                           std::int64_t rank) {
    std::int64_t each = (rows + ranks - 1) / ranks;
    return {rank * each, each};
  }
};
struct RowNotClipped : Sound {
  static bool holds(int, int) { return true; }
};
struct OwnRankFirst : Sound {
  static int addend(int place, int rank, int ranks) {
    return (place + rank) % ranks;
  }
};
struct PartsReused : Sound {
  static void before_parts() {}
};
struct SumTwice : Sound {
  static int addend(int place, int, int ranks) {
    return place == ranks - 1 ? 0 : place;
  }
};

/// Rows and their scales in FP8, summed and replicated by the switch.
template <typename Protocol> Run bySwitch() {
  return [](Mode mode, std::uint64_t seed) {
    RowCase rowCase = faultCase();
    rowCase.variant.input = Input::OwedMulticast;
    rowCase.variant.output = Output::EveryoneMulticast;
    rowCase.variant.scales = ScaleKind::Group;
    rowCase.problem.groupSize = 32;
    rowCase.problem.wantsValues = false;
    return runCase<bf16>(
        rowCase, mode, seed,
        reinterpret_cast<void (*)()>(
            row_collective<bf16, kFaultRanks, Input::OwedMulticast,
                           Output::EveryoneMulticast, RmsThen<ScaleKind::Group>,
                           kMaxThreads, kVectorsPerThread<bf16>, Protocol>));
  };
}

/// A row in blocks of a quarter of a warp, as 64 elements of 16 bits fill.
Outcome runQuarterWarps(Mode mode, std::uint64_t seed, unsigned block) {
  RowCase rowCase = faultCase();
  rowCase.shape.block = block;
  return runCase<bf16>(rowCase, mode, seed, rowKernel<Sound>());
}

} // namespace

std::vector<Fault> rowFaults() {
  std::vector<Fault> faults;
  auto add = [&](Fault fault) { faults.push_back(std::move(fault)); };
  add(rowFault<RelaxedStore<FlagKind::Entry>>(
      "relaxed-entry-store", "the entry flag is stored relaxed, not released"));
  add(rowFault<RelaxedLoad<FlagKind::Entry>>(
      "relaxed-entry-load", "the entry flag is read relaxed, not acquired"));
  add(rowFault<RelaxedStore<FlagKind::Exit>>(
      "relaxed-exit-store", "the exit flag is stored relaxed"));
  add(rowFault<RelaxedLoad<FlagKind::Exit>>("relaxed-exit-load",
                                            "the exit flag is read relaxed"));
  add({"relaxed-exit-by-switch", "row_collective",
       "the exit flag is stored relaxed behind FP8 rows that the switch "
       "replicates",
       bySwitch<RelaxedStore<FlagKind::Exit>>(), bySwitch<Sound>()});
  add(rowFault<DeviceScopeStore>("gpu-scope-store",
                                 "flags on peers are released at gpu scope"));
  add(rowFault<DeviceScopeLoad>("gpu-scope-load",
                                "flags of peers are acquired at gpu scope"));
  add(rowFault<NoEntry>("no-entry-barrier",
                        "peers' memory is used before they have begun"));
  add(rowFault<NoExit>("no-exit-barrier",
                       "a rank leaves while peers still use its memory"));
  add(rowFault<NoBarrierBeforeSignal>(
      "no-syncthreads-before-flag",
      "a thread signals before the others of its block have stored"));
  add(rowFault<NoBarrierAfterWait>(
      "no-syncthreads-after-wait",
      "threads of the block go on while one waits"));
  add(rowFault<EpochStays>("epoch-not-counted",
                           "every launch has the epoch of the first"));
  {
    auto run = [](void (*function)()) {
      return [=](Mode mode, std::uint64_t seed) {
        // Two launches before the counter wraps around.
        return runCase<bf16>(faultCase(), mode, seed, function, {},
                             0xfffffffdU);
      };
    };
    add({"epochs-compared-unsigned", "row_collective",
         "a wait for epoch 0 ends at 2^32 - 1",
         run(rowKernel<UnsignedEpochs>()), run(rowKernel<Sound>())});
  }
  add(rowFault<RowsRoundedUp>("rows-rounded-up",
                              "every rank takes ceil(T / P) rows"));
  add(rowFault<RowNotClipped>("row-not-clipped",
                              "a thread's share goes on behind the row's end"));
  {
    auto run = [](void (*function)()) {
      return [=](Mode mode, std::uint64_t seed) {
        return runCase<float>(faultCase<float>(), mode, seed, function);
      };
    };
    add({"own-rank-first", "row_collective",
         "sums begin with the own rank's addend",
         run(rowKernel<OwnRankFirst, float>()),
         run(rowKernel<Sound, float>())});
  }
  add(rowFault<SumTwice>("addend-twice",
                         "the first addend is summed in place of the last"));
  {
    auto run = [](void (*function)()) {
      return [=](Mode mode, std::uint64_t seed) {
        RowCase rowCase = faultCase();
        rowCase.shape.grid = 1; // several rows, one after another
        return runCase<bf16>(rowCase, mode, seed, function);
      };
    };
    add({"parts-reused", "row_collective",
         "shared parts of a sum are written while the last row's are read",
         run(rowKernel<PartsReused>()), run(rowKernel<Sound>())});
  }
  add({"mask-wider-than-block", "row_collective",
       "a block of 8 threads shuffles with the mask of a warp",
       [](Mode mode, std::uint64_t seed) {
         return runQuarterWarps(mode, seed, 8);
       },
       [](Mode mode, std::uint64_t seed) {
         return runQuarterWarps(mode, seed, 32);
       }});
  return faults;
}

} // namespace layline::kernels::test
