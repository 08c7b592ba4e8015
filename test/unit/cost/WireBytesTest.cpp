#include "layline/Cost/WireBytes.h"
#include "layline/Support/Partition.h"
#include <catch2/catch.hpp>

using namespace layline;
using C = WireCollective;

TEST_CASE("closed forms where the rows divide") {
  constexpr int64_t width = 8192 * 2;
  for (int64_t ranks : {2, 4, 8, 72}) {
    int64_t rows = ranks * 13, total = rows * width;
    WireByteCount reduce = countWireBytes(C::AllReduce, rows, width, ranks);
    CHECK(reduce.ring == 2 * (ranks - 1) * total / ranks);
    CHECK(reduce.viaSwitch == total + total / ranks);
    WireByteCount scatter =
        countWireBytes(C::ReduceScatter, rows, width, ranks);
    WireByteCount gather = countWireBytes(C::AllGather, rows, width, ranks);
    CHECK(scatter.ring == (ranks - 1) * total / ranks);
    CHECK(gather.ring == scatter.ring);
    CHECK(scatter.viaSwitch == total);
    CHECK(gather.viaSwitch == total / ranks);
  }
}

TEST_CASE("an all_reduce sends what its two halves send, whatever the rows") {
  for (int64_t ranks = 1; ranks <= 9; ++ranks)
    for (int64_t rows = 0; rows <= 40; ++rows)
      for (int64_t rank = 0; rank < ranks; ++rank) {
        Expr total = rows * 6, part = getBlock(rows, ranks, rank).size * 6;
        WireBytes halves = getWireBytes(C::ReduceScatter, total, part, ranks);
        halves += getWireBytes(C::AllGather, total, part, ranks);
        WireBytes whole = getWireBytes(C::AllReduce, total, part, ranks);
        REQUIRE(whole.ring.constant() == halves.ring.constant());
        REQUIRE(whole.viaSwitch.constant() == halves.viaSwitch.constant());
      }
}

TEST_CASE("numbers are those of the rank that sends most") {
  for (C collective : {C::AllReduce, C::ReduceScatter, C::AllGather})
    for (int64_t ranks = 1; ranks <= 9; ++ranks)
      for (int64_t rows = 0; rows <= 40; ++rows) {
        int64_t ring = 0, viaSwitch = 0;
        for (int64_t rank = 0; rank < ranks; ++rank) {
          WireBytes bytes = getWireBytes(
              collective, rows, getBlock(rows, ranks, rank).size, ranks);
          ring = std::max(ring, bytes.ring.constant());
          viaSwitch = std::max(viaSwitch, bytes.viaSwitch.constant());
        }
        WireByteCount most = countWireBytes(collective, rows, 1, ranks);
        REQUIRE(most.ring == ring);
        REQUIRE(most.viaSwitch == viaSwitch);
      }
}

TEST_CASE("what is sent in sum arrives in sum") {
  // Over all ranks a ring's scatter sends every addend but the kept ones.
  for (int64_t ranks = 1; ranks <= 9; ++ranks)
    for (int64_t rows = 0; rows <= 40; ++rows) {
      int64_t scatter = 0, gather = 0;
      for (int64_t rank = 0; rank < ranks; ++rank) {
        Expr part = getBlock(rows, ranks, rank).size;
        scatter +=
            getWireBytes(C::ReduceScatter, rows, part, ranks).ring.constant();
        gather += getWireBytes(C::AllGather, rows, part, ranks).ring.constant();
      }
      CHECK(scatter == (ranks - 1) * rows);
      CHECK(gather == (ranks - 1) * rows);
    }
}
