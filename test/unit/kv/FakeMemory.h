//===- FakeMemory.h - addresses and page tables to bind with ----*- C++ -*-===//
#ifndef LAYLINE_TEST_UNIT_KV_FAKEMEMORY_H
#define LAYLINE_TEST_UNIT_KV_FAKEMEMORY_H

#include "kv/Binding.h"

#include <cstdint>
#include <numeric>
#include <vector>

namespace layline::kv {

/// Buffers at made-up addresses, nothing of which is read or written, and
/// tables with pages 0, 1, 2, ...
class FakeMemory {
public:
  FakeMemory(const Side &side, int rank, std::int64_t pages,
             std::uint64_t first) {
    for (std::int64_t i = 0; i < side.ranks[rank].countBuffers(); ++i)
      addresses.push_back(first + static_cast<std::uint64_t>(i) *
                                      (std::uint64_t(1) << 44));
    table.resize(pages);
    std::iota(table.begin(), table.end(), 0);
    memory.buffers = addresses.data();
    memory.bufferCount = static_cast<std::int64_t>(addresses.size());
    memory.tables.assign(getTables(side).size(), {table.data(), pages});
  }
  FakeMemory(const FakeMemory &) = delete;

  RankMemory memory;
  std::vector<std::uint64_t> addresses;
  std::vector<std::int32_t> table;
};

} // namespace layline::kv

#endif // LAYLINE_TEST_UNIT_KV_FAKEMEMORY_H
