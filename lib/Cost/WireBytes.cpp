//===- WireBytes.cpp - bytes that a rank sends in a collective ------------===//
#include "layline/Cost/WireBytes.h"
#include "layline/Support/Partition.h"
#include <algorithm>

using namespace layline;

WireBytes layline::getWireBytes(WireCollective collective, const Expr &total,
                                const Expr &part, int64_t ranks) {
  if (ranks == 1)
    return {};
  switch (collective) {
  case WireCollective::ReduceScatter:
    return {total - part, total};
  case WireCollective::AllGather:
    return {part * (ranks - 1), part};
  case WireCollective::AllReduce: {
    // total - part + (P - 1) * part
    return {total + part * (ranks - 2), total + part};
  }
  }
  return {};
}

WireByteCount layline::countWireBytes(WireCollective collective, int64_t rows,
                                      int64_t rowBytes, int64_t ranks) {
  WireByteCount most;
  // Parts differ by one row at most, the largest first: the two ends suffice.
  for (int64_t rank : {int64_t(0), ranks - 1}) {
    WireBytes bytes =
        getWireBytes(collective, rows * rowBytes,
                     getBlock(rows, ranks, rank).size * rowBytes, ranks);
    most.ring = std::max(most.ring, bytes.ring.constant());
    most.viaSwitch = std::max(most.viaSwitch, bytes.viaSwitch.constant());
  }
  return most;
}
