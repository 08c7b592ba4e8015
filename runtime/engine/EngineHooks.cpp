// What the engine around this one does itself, and the record of what ran.
#include "engine/Engine.h"

#include <cstdio>
#include <fstream>
#include <utility>

namespace layline::runtime {

void Engine::dropHooksOfPlan() {
  hooks_.caches.clear();
  hooks_.streams.clear();
  trace_.clear();
}

void Engine::setAllocator(const layline_allocator &allocator) {
  if (plan_)
    fail(LAYLINE_BAD_ARGUMENT,
         "the allocator is set after a plan is loaded; before is expected");
  hooks_.allocator = allocator;
}

void Engine::setCacheHooks(int cache, const layline_cache_hooks &hooks) {
  for (std::size_t c = 0; c < plan().caches.size(); ++c) {
    if (cache >= 0 && c != static_cast<std::size_t>(cache))
      continue;
    layline_cache_hooks before = std::exchange(hooks_.caches[c], hooks);
    try {
      device_->useCacheHooks(static_cast<int>(c));
    } catch (...) {
      hooks_.caches[c] = before; // as the device has it
      throw;
    }
  }
  setPast(0);
}

void Engine::setStream(std::int64_t rank, const std::string &stream,
                       void *value) {
  if (rank < 0 || rank >= plan().ranks())
    fail(LAYLINE_BAD_ARGUMENT, "stream '", stream, "' of rank ", rank,
         " is set; the plan has ", plan_->ranks(), " ranks");
  if (const std::vector<std::int64_t> &here = localRanks();
      rank < here.front() || rank > here.back())
    fail(LAYLINE_BAD_ARGUMENT, "stream '", stream, "' of rank ", rank,
         " is set; ranks ", here.front(), " to ", here.back(),
         " are in this process");
  for (std::size_t s = 0; s < plan_->streams.size(); ++s)
    if (plan_->streams[s] == stream) {
      hooks_.streams[static_cast<std::size_t>(rank)][s] = value;
      return;
    }
  std::string known;
  for (const std::string &name : plan_->streams)
    known += (known.empty() ? "'" : ", '") + name + "'";
  fail(LAYLINE_BAD_ARGUMENT, "the plan has no stream '", stream, "'; it has ",
       known);
}

void Engine::beginTrace() { trace_.begin(plan().ranks()); }

void Engine::writeTrace(const std::string &path) const {
  plan();
  if (!trace_.hasBegun())
    fail(LAYLINE_NOT_BOUND, "nothing was recorded: no trace was begun");
  // Whole or not at all.
  std::string part = path + ".part";
  std::ofstream out(part, std::ios::binary | std::ios::trunc);
  if (out)
    trace_.write(out, *plan_, options_.precision);
  out.close();
  if (!out || std::rename(part.c_str(), path.c_str()) != 0) {
    std::remove(part.c_str());
    fail(LAYLINE_UNREADABLE_FILE, "'", path, "': cannot be written");
  }
}

} // namespace layline::runtime
