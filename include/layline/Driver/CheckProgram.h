//===- CheckProgram.h - nets over a program that compile has dumped -*- C++
//-*-===//
//
// No header of LLVM or MLIR is included here: the command-line tool is a plain
// C++ program.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_DRIVER_CHECKPROGRAM_H
#define LAYLINE_DRIVER_CHECKPROGRAM_H

#include <string>

namespace layline {

struct ProgramCheck {
  bool isReadable = false; ///< the file was found and parsed
  bool isFed = false;      ///< every reader of every program gets what it needs
  std::string report;      ///< a table for each program, or one JSON object
  std::string messages;    ///< why the file is not readable
};

/// Who reads what, in every variant of an .mlir file as `compile --dump-ir`
/// writes it. The ops are not verified: this net stands
/// alone.
ProgramCheck checkConsumers(const std::string &path, bool json);

} // namespace layline

#endif // LAYLINE_DRIVER_CHECKPROGRAM_H
