//===- KVLoopback.h - a pair of ranks over a real engine --------*- C++ -*-===//
#ifndef LAYLINE_TOOLS_LAYLINE_KVLOOPBACK_H
#define LAYLINE_TOOLS_LAYLINE_KVLOOPBACK_H

#include "KVPeer.h"
#include "layline/KV/RankPool.h"
#include "layline/KV/Report.h"

namespace layline::tool {

/// Real memory of a rank, which the process that stands for it maps too.
struct SharedPool {
  kv::RankPool pool;
  SharedMemory memory;

  /// Filled with bytes that belong to no token.
  explicit SharedPool(kv::RankPool made)
      : pool(std::move(made)), memory(pool.countBytes()) {
    pool.place(memory.getData());
    kv::fillPool(pool);
  }
};

/// A target rank, and what its memory must look like.
class LoopbackTarget {
public:
  LoopbackTarget(const kv::Plan &plan, int rank,
                 const kv::TrafficOptions &request);

  int getRank() const { return rank; }
  const SharedPool &getPool() const { return shared; }

  /// Moves what a source sends by plain copies, in an image apart: that is what
  /// is expected from now on. Gives the bytes that were sent.
  int64_t expect(const SharedPool &source, int sourceRank);
  /// The memory as it was before the last `expect`.
  void restore();
  /// Throws PeerError at the first byte that is not the image's.
  void compare() const;
  /// Finds every head of every token where the layout has it: its own content,
  /// or all of it still as it was in the beginning. Gives the bytes of those
  /// that are there; throws PeerError if something else is.
  int64_t countArrived() const;
  /// Bytes that must be there when all sources have sent.
  int64_t countNeeded() const;

private:
  const kv::Plan &plan;
  int rank;
  kv::TrafficOptions request;
  SharedPool shared;
  std::vector<std::uint8_t> before, image;
  kv::RankPool imagePool;
};

/// What one transfer of a pair took.
struct LoopbackRun {
  int64_t batches = 0, calls = 0, descriptors = 0, bytes = 0;
  int64_t largestCall = 0; ///< descriptors
  /// Seconds: making descriptors and handing them over, copying into and out of
  /// slots, and in the engine, until it has said that all has arrived.
  double preparing = 0, packing = 0, sending = 0;
  double getSeconds() const { return preparing + packing + sending; }
};

struct LoopbackEngine {
  KVPeer::Setup setup;
  std::string library;    ///< of the engine, or empty
  std::string planPath;   ///< kv.json
  std::string version;    ///< is set by the first transfer
  int64_t queueLimit = 0; ///< likewise; 0: none
};

/// Starts a process for each of the two ranks and has the engine move what one
/// sends to the other, `repeats` times over, comparing every byte of the target
/// each time. Throws PeerError, runtime::Error.
std::vector<LoopbackRun> sendPair(const kv::Plan &plan,
                                  const kv::TrafficOptions &request,
                                  LoopbackEngine &engine, int sourceRank,
                                  LoopbackTarget &target, int repeats);

} // namespace layline::tool

#endif // LAYLINE_TOOLS_LAYLINE_KVLOOPBACK_H
