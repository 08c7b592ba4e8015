// Every option and hook of the C API on a device: what is asked of it is done,
// or refused with a reason. Nothing is passed over in silence.
#ifndef LAYLINE_TEST_KERNELS_HOOKS_HOOKWALK_H
#define LAYLINE_TEST_KERNELS_HOOKS_HOOKWALK_H

#include <cstddef>
#include <functional>
#include <map>
#include <string>

namespace layline::test {

/// A device, and what only it can tell of itself; null: as devices of the host
/// show it, through callbacks.
struct WalkedDevice {
  std::string name;
  /// `run(value)` runs a plan with that as the stream of rank 0: was it used?
  std::function<bool(const std::function<void(void *)> &run)> usesStream;
  /// `run(poison)` runs a plan: was memory filled that is not else?
  std::function<bool(const std::function<void(bool)> &run)> poisons;
  /// `run(seconds)` runs a plan with that timeout: do ranks wait so long?
  std::function<bool(const std::function<void(double)> &run)> waits;
  /// `run(bySwitch)` runs a plan: did the switch get memory that it does not
  /// else? Null: the device refuses.
  std::function<bool(const std::function<void(bool)> &run)> usesSwitch;
  /// Memory of the device, at a multiple of `alignment`, and back; null: of the
  /// host.
  std::function<void *(std::size_t bytes, std::size_t alignment)> allocate;
  std::function<void(void *memory)> release;
};

/// By option ("options.taps") or function ("layline_gemm_set"; with its kind,
/// "layline_cache_hooks_set, pages"): "done", "ignored", or the text of the
/// refusal.
std::map<std::string, std::string> walkHooks(const WalkedDevice &device);

/// The options and hooks that the headers have, without kinds.
std::map<std::string, bool> hooksOfHeaders();

} // namespace layline::test

#endif // LAYLINE_TEST_KERNELS_HOOKS_HOOKWALK_H
