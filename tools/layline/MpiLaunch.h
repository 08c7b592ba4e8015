//===- MpiLaunch.h - a command as one process per rank ----------*- C++ -*-===//
#ifndef LAYLINE_TOOLS_LAYLINE_MPILAUNCH_H
#define LAYLINE_TOOLS_LAYLINE_MPILAUNCH_H

#include <cstdint>
#include <optional>
#include <string>

namespace layline::tool {

/// This process's number among those that mpirun or another launcher of MPI
/// started, or nothing if it was started by itself.
std::optional<int64_t> mpiRank();

/// Of a process that a launcher started: ends when the launcher does, however
/// that ends.
void endWithMpirun();

/// Becomes `mpirun -n RANKS` of this very command. Returns only if that cannot
/// be started, with the reason.
std::string becomeMpirun(int64_t ranks);

} // namespace layline::tool

#endif // LAYLINE_TOOLS_LAYLINE_MPILAUNCH_H
