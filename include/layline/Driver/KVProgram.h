//===- KVProgram.h - a migration as IR --------------------------*- C++ -*-===//
#ifndef LAYLINE_DRIVER_KVPROGRAM_H
#define LAYLINE_DRIVER_KVPROGRAM_H

#include "kv/Plan.h"
#include <optional>
#include <string>

namespace layline {

/// The plan in the dialect `kv`, verified. None, with the reason in `error`, if
/// it cannot be said there or its verifiers refuse it.
std::optional<std::string> printMigration(const kv::Plan &plan,
                                          std::string &error);

} // namespace layline

#endif // LAYLINE_DRIVER_KVPROGRAM_H
