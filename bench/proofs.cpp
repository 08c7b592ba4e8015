// Time of the symbolic proofs that a layout of tokens and heads needs: coverage
// of token x head x layer, the rows within a rank's tokens, order of a gather,
// positions; for every number of tokens at once.
// Usage: proofs [repetitions]
#include "layline/Verification/CoverageProof.h"
#include "layline/Verification/RowMap.h"
#include "layline/Verification/VisibilityProof.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace layline;

namespace {
struct Setup {
  int64_t tp, cp;
  Partition tokens;
};
} // namespace

/// Milliseconds of all proofs of one setup, from nothing.
static double prove(const Setup &setup, bool &holds) {
  StopWatch watch;
  Link outer{setup.tokens, "cp", setup.cp, {}};
  Link inner{Partition::block(), "tp", setup.tp, {}};
  Coverage coverage = proveCoverage(
      {{"cp", setup.cp}, {"tp", setup.tp}},
      {{"token", std::nullopt, {outer}},
       {"head", setup.tp * 8, {{Partition::block(), "tp", setup.tp, {}}}},
       {"layer", 94, {}}});
  holds = coverage && proveChain({outer, inner}, std::nullopt) &&
          proveGather(outer, GatherOrder::Token) &&
          provePositions({outer, inner}, {{outer, inner}}) &&
          proveVisible({{outer}, {}, {}, std::nullopt});
  return watch.seconds() * 1000;
}

int main(int argc, char **argv) {
  int repetitions = argc > 1 ? std::atoi(argv[1]) : 31;
  std::printf("coverage + rows + gather + positions + visibility, every token "
              "count; median of %d\n",
              repetitions);
  for (const Setup &setup :
       {Setup{8, 8, Partition::zigzag()}, Setup{8, 8, Partition::cyclic(64)},
        Setup{64, 64, Partition::block()}, Setup{64, 64, Partition::zigzag()},
        Setup{64, 64, Partition::cyclic(64)}}) {
    std::vector<double> times;
    bool holds = true;
    for (int i = 0; i < repetitions; ++i) {
      bool proved = false;
      times.push_back(prove(setup, proved));
      holds &= proved;
    }
    std::sort(times.begin(), times.end());
    std::printf("TP %2lld x CP %2lld, %-10s  %s  %7.2f ms\n",
                static_cast<long long>(setup.tp),
                static_cast<long long>(setup.cp),
                kindName(setup.tokens).c_str(), holds ? "proved" : "REFUSED",
                times[times.size() / 2]);
    if (!holds)
      return 1;
  }
  return 0;
}
