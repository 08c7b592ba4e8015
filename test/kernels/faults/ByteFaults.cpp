// Faults of broadcast and of paged rows.
#include "faults/RunFaulty.h"
#include "harness/Bytes.h"

namespace layline::kernels::test {
namespace {

struct RelaxedChunkStore : Sound {
  static void signal(FlagKind kind, std::uint32_t *flag, std::uint32_t epoch) {
    if (kind == FlagKind::Chunk)
      st_relaxed_sys(flag, epoch);
    else
      st_release_sys(flag, epoch);
  }
};
struct RelaxedChunkLoad : Sound {
  static std::uint32_t observe(FlagKind kind, const std::uint32_t *flag) {
    return kind == FlagKind::Chunk ? ld_relaxed_sys(flag)
                                   : ld_acquire_sys(flag);
  }
};
struct FlagBeforeChunk : Sound {
  static void before_signal(FlagKind) {}
};
struct OwnerDoesNotWait : Sound {
  static constexpr bool kEntryBarrier = false;
};
struct Offset32 : Sound {
  static std::int64_t offset(std::int64_t count, std::int64_t stride) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(count) *
                                     static_cast<std::uint32_t>(stride));
  }
};

template <typename Protocol> Run broadcasting() {
  return [](Mode mode, std::uint64_t seed) {
    std::vector<Sending> launches = {
        {0, 640, 128, 2}, {0, 640, 128, 2}, {1, 640, 128, 2}, {0, 640, 128, 2}};
    auto run = runBroadcasts<kFaultRanks, Protocol>(launches,
                                                    optionsOf(mode, seed, 2));
    return outcomeOf(run.report, run.difference);
  };
}
template <typename Protocol> Run packing(const Pages &pages) {
  return [=](Mode mode, std::uint64_t seed) {
    // A chunk of each plane at a time is what must be resident.
    auto run = runPages<Protocol>(pages, optionsOf(mode, seed, 4));
    return outcomeOf(run.report, run.difference);
  };
}

} // namespace

std::vector<Fault> byteFaults() {
  std::vector<Fault> faults;
  auto addBroadcast = [&](const char *name, const char *what, Run run) {
    faults.push_back(
        {name, "broadcast", what, std::move(run), broadcasting<Sound>()});
  };
  addBroadcast("relaxed-chunk-store", "a chunk's flag is stored relaxed",
               broadcasting<RelaxedChunkStore>());
  addBroadcast("relaxed-chunk-load", "a chunk's flag is read relaxed",
               broadcasting<RelaxedChunkLoad>());
  addBroadcast("flag-before-chunk",
               "a chunk's flag is set before all threads have stored",
               broadcasting<FlagBeforeChunk>());
  addBroadcast("owner-does-not-wait",
               "the owner writes over what peers still read",
               broadcasting<OwnerDoesNotWait>());
  Pages pages{11, 2};
  auto addPages = [&](const char *name, const char *what, Run run,
                      const Pages &of) {
    faults.push_back({name, "pack_pages, scatter_pages", what, std::move(run),
                      packing<Sound>(of)});
  };
  addPages("relaxed-page-flag", "a packed chunk's flag is stored relaxed",
           packing<RelaxedChunkStore>(pages), pages);
  addPages("page-flag-before-rows",
           "a packed chunk's flag is set before all threads have stored",
           packing<FlagBeforeChunk>(pages), pages);
  // Pages of 1.25 GiB: the third begins behind 2^31.
  Pages far{11, 2};
  far.pageGap = std::int64_t(5) << 28;
  // The race check keeps notes on all bytes of a buffer, and of so many it has
  // no room for them.
  auto unlessRace = [](Run run) -> Run {
    return [=](Mode mode, std::uint64_t seed) {
      return mode == Mode::Race ? Outcome() : run(mode, seed);
    };
  };
  faults.push_back({"offsets-of-32-bits", "pack_pages, scatter_pages",
                    "bytes of pages are counted in 32 bits; not run in race",
                    unlessRace(packing<Offset32>(far)),
                    unlessRace(packing<Sound>(far))});
  return faults;
}

} // namespace layline::kernels::test
