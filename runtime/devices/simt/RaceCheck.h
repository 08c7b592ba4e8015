// Happens-before: two accesses to a byte, one of them a store, not both strong,
// must be ordered by synchronization, whatever the schedule was. After
// FastTrack (Flanagan and Freund, PLDI 2009), with the PTX memory model's
// strong accesses: those with an order and a scope may meet without a race.
#ifndef LAYLINE_RUNTIME_DEVICES_SIMT_RACECHECK_H
#define LAYLINE_RUNTIME_DEVICES_SIMT_RACECHECK_H

#include "devices/simt/VectorClock.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace layline::simt {

/// A point in a thread's life.
struct Moment {
  std::uint32_t thread = 0, time = 0; ///< 0: never
};

/// Moments none of which is ordered before another.
class Moments {
public:
  template <typename Visit> void each(Visit visit) const {
    if (first_.time != 0)
      visit(first_);
    if (more_)
      for (Moment moment : *more_)
        visit(moment);
  }
  void add(Moment moment, const ThreadClock &clock);
  void clear() {
    first_ = {};
    more_.reset();
  }

private:
  Moment first_;
  std::unique_ptr<std::vector<Moment>> more_;
};

/// Who last accessed some bytes.
struct ShadowCell {
  Moment store;
  Moments loads, strongStores, strongLoads;
};

/// The cells of 16 bytes: one while all accesses take all of them, more when
/// narrower ones come.
struct ShadowGranule {
  unsigned bytesPerCell = 16;
  ShadowCell whole;
  std::unique_ptr<ShadowCell[]> parts;

  ShadowCell &at(unsigned offset) {
    return parts ? parts[offset / bytesPerCell] : whole;
  }
};

/// The cells of a buffer.
class Shadow {
public:
  Shadow(std::uintptr_t base, std::size_t bytes)
      : first_(base / 16), granules_((base + bytes + 15) / 16 - first_) {}
  ShadowGranule &at(std::uintptr_t address) {
    return granules_[address / 16 - first_];
  }

private:
  std::uintptr_t first_;
  std::vector<ShadowGranule> granules_;
};

enum class AccessKind : std::uint8_t {
  Load,
  Store,
  StrongLoad,
  StrongStore,
  /// A read-modify-write.
  StrongUpdate
};

/// What raceCheck found out.
struct RaceFinding {
  Moment earlier;
  AccessKind earlierKind;
};

/// Notes the access and calls `found(RaceFinding)` for each that it races with.
template <typename Found>
void noteAccess(Shadow &shadow, std::uintptr_t address, unsigned bytes,
                AccessKind kind, const ThreadClock &clock, Found found);

inline bool isStore(AccessKind kind) {
  return kind != AccessKind::Load && kind != AccessKind::StrongLoad;
}
inline bool isStrong(AccessKind kind) {
  return kind != AccessKind::Load && kind != AccessKind::Store;
}
const char *nameOf(AccessKind kind);

// ---- Implementation
// ------------------------------------------------------------

/// Makes cells of so many bytes.
void split(ShadowGranule &granule, unsigned bytes);

template <typename Found>
void noteAccess(Shadow &shadow, std::uintptr_t address, unsigned bytes,
                AccessKind kind, const ThreadClock &clock, Found found) {
  ShadowGranule &granule = shadow.at(address);
  auto offset = static_cast<unsigned>(address % 16);
  if (bytes < granule.bytesPerCell)
    split(granule, bytes);
  Moment now{clock.id, clock.time};
  auto check = [&](Moment earlier, AccessKind earlierKind) {
    if (earlier.time > clock.at(earlier.thread))
      found(RaceFinding{earlier, earlierKind});
  };
  for (unsigned at = offset; at < offset + bytes; at += granule.bytesPerCell) {
    ShadowCell &cell = granule.at(at);
    check(cell.store, AccessKind::Store);
    if (isStore(kind))
      cell.loads.each([&](Moment load) { check(load, AccessKind::Load); });
    if (!isStrong(kind))
      cell.strongStores.each(
          [&](Moment store) { check(store, AccessKind::StrongStore); });
    if (kind == AccessKind::Store)
      cell.strongLoads.each(
          [&](Moment load) { check(load, AccessKind::StrongLoad); });
    switch (kind) {
    case AccessKind::Load:
      cell.loads.add(now, clock);
      break;
    case AccessKind::Store:
      // What came before it is ordered before it, or was found.
      cell.loads.clear();
      cell.strongLoads.clear();
      cell.strongStores.clear();
      cell.store = now;
      break;
    case AccessKind::StrongLoad:
      cell.strongLoads.add(now, clock);
      break;
    case AccessKind::StrongStore:
    case AccessKind::StrongUpdate:
      cell.strongStores.add(now, clock);
      break;
    }
  }
}

} // namespace layline::simt

#endif // LAYLINE_RUNTIME_DEVICES_SIMT_RACECHECK_H
