// What of a run is the same on every device: its sizes, what its values take
// of the arenas, its named values, the parts of its inputs.
#ifndef LAYLINE_RUNTIME_ENGINE_RUNSHAPE_H
#define LAYLINE_RUNTIME_ENGINE_RUNSHAPE_H

#include "engine/Device.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace layline::runtime {

/// Bytes of an element of a buffer as the device keeps it.
using ElementBytes = std::function<std::int64_t(const Buffer &)>;

/// Run bytes per plan byte, by arena: offsets and sizes are for the plan's
/// types, and all of an arena grow alike.
std::vector<std::int64_t> arenaScales(const Variant &variant,
                                      const ElementBytes &bytes);

struct RunShape {
  const Plan *plan = nullptr;
  const Variant *variant = nullptr;
  std::int64_t tokens = 0, past = 0;
  std::vector<std::int64_t> arenaScale; ///< arenaScales
  std::vector<int> inputOfBuffer;       ///< plan/PositionSource.h
  std::vector<std::int64_t> largestOfInput;

  /// Everything but `plan`.
  void describe(const RunRequest &request, const ElementBytes &bytes);
};

/// What a rank has of an input buffer's values.
std::vector<std::int64_t> localInput(const Plan &plan, const Buffer &buffer,
                                     const RunRequest &request,
                                     const Environment &environment);

/// What to read of a buffer if rows of dimension 0 are wanted: only those of
/// one that every rank holds whole, else all of it.
struct BufferRead {
  ShapeExpr shape;
  std::string name;         ///< to other processes, which must read the same
  std::int64_t skipped = 0; ///< elements in front of what is read
  bool isPart = false;      ///< else keepRows() has to follow
};
BufferRead readOf(const Buffer &buffer, const std::optional<Part> &rows,
                  std::int64_t tokens, std::int64_t past);

/// The named outputs of a variant's steps, of fused ones their bodies' too.
class TapList {
public:
  /// Whether a value can be read after its step, or the fused one around it.
  using IsKept = std::function<bool(const Step &, const Operand &)>;

  void clear();
  void list(const Variant &variant, const IsKept &isKept = {});
  const std::vector<Tap> &all() const { return taps_; }

  /// `visit(index, operand)` for each tap of a step, without its body's.
  template <typename Visit>
  void forEach(const Step &step, const Visit &visit) const {
    auto found = ofStep_.find(&step);
    if (found == ofStep_.end())
      return;
    for (std::size_t i = found->second.first; i < found->second.second; ++i)
      visit(i, taps_[i].operand);
  }

private:
  void add(const Step &step, const IsKept &isKept);

  std::vector<Tap> taps_;
  /// Those of a step stand together: the first, and behind the last.
  std::unordered_map<const Step *, std::pair<std::size_t, std::size_t>> ofStep_;
};

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_ENGINE_RUNSHAPE_H
