//===- Hardware.h - what a card can do at most ------------------*- C++ -*-===//
#ifndef LAYLINE_LIB_COST_HARDWARE_H
#define LAYLINE_LIB_COST_HARDWARE_H

#include <cstdint>
#include <string>

namespace layline {

/// Peaks of one card, from its vendor's data sheet: dense, no sparsity.
struct Hardware {
  const char *card;  ///< as Target::card
  const char *table; ///< its name in data/collectives, or ""
  double tflops16;   ///< bf16 and f16, sums in f32
  double tflops8;    ///< fp8 or int8; 16-bit speed where it has neither
  double memoryTBs;  ///< of device memory
  double linkGBs;    ///< to the other cards of the node, one direction
  int64_t multiprocessors;
  /// Of one step of a collective: a start and a wait for a peer.
  double stepUs;
  bool inSwitch; ///< the switch adds and multicasts
};

/// Null for a card that is not known.
const Hardware *findHardware(const std::string &card);

} // namespace layline

#endif // LAYLINE_LIB_COST_HARDWARE_H
