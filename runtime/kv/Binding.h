// A plan with the addresses and page tables of one request: descriptors.
#ifndef LAYLINE_RUNTIME_KV_BINDING_H
#define LAYLINE_RUNTIME_KV_BINDING_H

#include "kv/CompletePlan.h"
#include "kv/Plan.h"
#include "kv/Regions.h"
#include "kv/Tokens.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace layline::kv {

/// What a rank of one side has for a request. Nothing is copied: the caller
/// keeps the arrays until the binding is made.
struct RankMemory {
  /// Addresses of the rank's buffers, in the order of Rank::getOrdinal.
  const std::uint64_t *buffers = nullptr;
  std::int64_t bufferCount = 0;
  /// By table of the side (see getTables): pages of the request. Of a rank that
  /// keeps pages by their numbers: the table that its group shares.
  std::vector<PageTable> tables;
  /// By table: how many pages a buffer has, so that numbers can be checked; 0:
  /// not known.
  std::vector<std::int64_t> poolPages;
};

/// The pages of a table that a rank needs for a request: up to the end of all
/// its tokens, from the first one that is not behind the prefix, or in front of
/// a window. A table that begins there is enough.
PageSpan findTablePages(const Plan &plan, const Side &side, const Rank &rank,
                        const Request &request, int table);

struct Batch {
  std::int64_t first = 0, descriptors = 0; ///< numbers of descriptors
  std::int64_t bytes = 0;
  bool isWithLastChunk = false;
  std::size_t section = 0; ///< of the binding, that the first one is of
};

/// The descriptors of one transfer of the plan.
struct Part {
  std::int64_t first = 0, descriptors = 0;
  Packing packing = Packing::None;
  bool isWithLastChunk = false;
  std::int64_t firstBatch = 0, batches = 0;
  int transfer = 0; ///< of the plan
  SlotLimits slot;  ///< that its rounds go through; of a part that packs
};

/// Descriptors at equal steps.
struct BlockRun {
  std::uint64_t source = 0, target = 0, bytes = 0;
  std::uint64_t sourceStep = 0, targetStep = 0; ///< modulo 2^64
  std::int64_t count = 0;

  std::uint64_t getSource(std::int64_t i) const {
    return source + static_cast<std::uint64_t>(i) * sourceStep;
  }
  std::uint64_t getTarget(std::int64_t i) const {
    return target + static_cast<std::uint64_t>(i) * targetStep;
  }
};

/// A region at the addresses of one layer: those of its first block.
struct BoundRegion {
  Region region;
  std::uint64_t source = 0, target = 0;
};

/// Everything that one rank sends to another for a chunk of a request.
/// Immutable: threads may share it.
class Binding {
public:
  /// Throws runtime::Error if the request, the addresses or the tables are not
  /// what the plan needs.
  Binding(const Plan &plan, const Request &request, int source, int target,
          const RankMemory &sourceMemory, const RankMemory &targetMemory);

  /// Of transfers that do not pack: what the engine gets in one call. Of those
  /// that do: what it would get if they did not.
  const std::vector<Batch> &getBatches() const { return batches; }
  const std::vector<Part> &getParts() const { return parts; }
  std::int64_t countDescriptors() const { return descriptors; }
  std::int64_t countRegions() const { return regions; }
  std::int64_t countBytes() const { return totalBytes; }
  /// Bytes of every descriptor; 0 if they differ, or there are none.
  std::int64_t getEqualBytes() const { return equalBytes; }

  /// Descriptors first .. first + count - 1: addresses and lengths. Writes
  /// `count` elements of each array; allocates nothing. `bytes` may be null: a
  /// third less to write, for a caller that keeps lengths of equal descriptors.
  void fill(std::int64_t first, std::int64_t count, std::uint64_t *source,
            std::uint64_t *target, std::uint64_t *bytes) const;

  /// The same for descriptors of one batch, the first `from` of which are left
  /// out.
  void fill(const Batch &batch, std::int64_t from, std::int64_t count,
            std::uint64_t *source, std::uint64_t *target,
            std::uint64_t *bytes) const;

  /// The same as two arrays of `count` rows: address, bytes, device.
  void fillRows(std::int64_t first, std::int64_t count,
                std::uint64_t sourceDevice, std::uint64_t targetDevice,
                std::uint64_t *source, std::uint64_t *target) const;

  /// Bytes of descriptors 0 .. number - 1.
  std::int64_t countBytesBefore(std::int64_t number) const;

  /// Calls visit(run) for descriptors first .. first + count - 1, in order, as
  /// runs at equal steps.
  template <typename Visit>
  void forEachRun(std::int64_t first, std::int64_t count,
                  const Visit &visit) const;

  /// Calls visit(source, target, bytes) for each of them.
  template <typename Visit>
  void forEachBlock(std::int64_t first, std::int64_t count,
                    const Visit &visit) const {
    forEachRun(first, count, [&](const BlockRun &run) {
      for (std::int64_t i = 0; i < run.count; ++i)
        visit(run.getSource(i), run.getTarget(i), run.bytes);
    });
  }

  /// Calls visit(region) for regions first .. first + count - 1, in order.
  template <typename Visit>
  void forEachRegion(std::int64_t first, std::int64_t count,
                     const Visit &visit) const;

private:
  friend class Binder;

  /// Regions that several layers share.
  struct List {
    std::vector<Region> regions;
    std::int64_t descriptors = 0, bytes = 0; ///< of all
    /// Descriptors and bytes before each region; empty of a flat list with
    /// blocks of equal size, which can do without.
    std::vector<std::int64_t> firsts, bytesBefore;
    /// Most regions are one block: descriptors as arrays, to be copied.
    std::vector<std::int64_t> flatSource, flatTarget, flatBytes;
    bool isFlat = false;
    std::int64_t equalBytes = 0; ///< of every block; 0: they differ

    void flatten();
    void addUp();
    /// The region that descriptor `number` is of.
    std::size_t findRegion(std::int64_t number) const;
    /// Bytes of the first descriptors.
    std::int64_t countBytes(std::int64_t count) const;
  };
  /// A list at the addresses of one layer.
  struct Section {
    int list = 0;
    std::uint64_t source = 0, target = 0;
    std::int64_t first = 0;       ///< number of its first descriptor
    std::int64_t firstRegion = 0; ///< and region
    std::int64_t firstBytes = 0;  ///< bytes before it
  };

  /// Section::first or Section::firstRegion: the section that a number is of.
  std::size_t findSection(std::int64_t Section::*member,
                          std::int64_t number) const;
  template <typename Visit>
  static void forEachRun(const List &list, const Section &section,
                         std::int64_t from, std::int64_t count,
                         const Visit &visit);
  template <typename Sink>
  void fillRange(std::int64_t first, std::int64_t count, Sink sink) const;
  /// From a section on that begins no later than `first`.
  template <typename Sink>
  void fillFrom(std::size_t section, std::int64_t first, std::int64_t count,
                Sink sink) const;

  std::vector<List> lists;
  std::vector<Section> sections;
  std::vector<Batch> batches;
  std::vector<Part> parts;
  std::int64_t descriptors = 0, regions = 0, totalBytes = 0, equalBytes = 0;
};

template <typename Visit>
void Binding::forEachRun(const List &list, const Section &section,
                         std::int64_t from, std::int64_t count,
                         const Visit &visit) {
  if (list.isFlat) {
    for (std::int64_t i = from; i < from + count; ++i) {
      BlockRun run;
      run.count = 1;
      run.source =
          section.source + static_cast<std::uint64_t>(list.flatSource[i]);
      run.target =
          section.target + static_cast<std::uint64_t>(list.flatTarget[i]);
      run.bytes = static_cast<std::uint64_t>(
          list.equalBytes ? list.equalBytes : list.flatBytes[i]);
      visit(run);
    }
    return;
  }
  std::size_t number = list.findRegion(from);
  std::int64_t inside = from - list.firsts[number];
  for (; count > 0; ++number, inside = 0) {
    const Region &region = list.regions[number];
    std::int64_t row = inside / region.inner, column = inside % region.inner;
    for (; row < region.outer && count > 0; ++row, column = 0) {
      BlockRun run;
      run.count = count < region.inner - column ? count : region.inner - column;
      run.source =
          section.source +
          static_cast<std::uint64_t>(region.source + row * region.sourceJump +
                                     column * region.sourceStep);
      run.target =
          section.target +
          static_cast<std::uint64_t>(region.target + row * region.targetJump +
                                     column * region.targetStep);
      run.bytes = static_cast<std::uint64_t>(region.bytes);
      run.sourceStep = static_cast<std::uint64_t>(region.sourceStep);
      run.targetStep = static_cast<std::uint64_t>(region.targetStep);
      visit(run);
      count -= run.count;
    }
  }
}

template <typename Visit>
void Binding::forEachRun(std::int64_t first, std::int64_t count,
                         const Visit &visit) const {
  if (count <= 0)
    return;
  std::size_t number = findSection(&Section::first, first);
  std::int64_t from = first - sections[number].first;
  for (; count > 0; ++number, from = 0) {
    const List &list = lists[sections[number].list];
    std::int64_t here =
        count < list.descriptors - from ? count : list.descriptors - from;
    forEachRun(list, sections[number], from, here, visit);
    count -= here;
  }
}

template <typename Visit>
void Binding::forEachRegion(std::int64_t first, std::int64_t count,
                            const Visit &visit) const {
  if (count <= 0)
    return;
  std::size_t number = findSection(&Section::firstRegion, first);
  std::int64_t from = first - sections[number].firstRegion;
  for (; count > 0; ++number, from = 0) {
    const Section &section = sections[number];
    const std::vector<Region> &own = lists[section.list].regions;
    for (; from < static_cast<std::int64_t>(own.size()) && count > 0;
         ++from, --count)
      visit(BoundRegion{
          own[from],
          section.source + static_cast<std::uint64_t>(own[from].source),
          section.target + static_cast<std::uint64_t>(own[from].target)});
  }
}

} // namespace layline::kv

#endif // LAYLINE_RUNTIME_KV_BINDING_H
