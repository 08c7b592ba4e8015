//===- Commands.h - the commands of the tool --------------------*- C++ -*-===//
#ifndef LAYLINE_TOOLS_LAYLINE_COMMANDS_H
#define LAYLINE_TOOLS_LAYLINE_COMMANDS_H

#include <CLI/CLI.hpp>

namespace layline::tool {

/// Exit codes of every command.
enum ExitCode {
  Good = 0,
  Refused = 1, ///< a good input that was refused, or numbers not equal
  Unusable = 2 ///< bad usage, or an input that cannot be read
};

// What an option takes; another value is refused as "found, expected".
CLI::Validator wholeNumber();
CLI::Validator positiveNumber();

// Each adds one command; when it is chosen, `exitCode` is set.
void addCompileCommand(CLI::App &app, int &exitCode);
void addVerifyCommand(CLI::App &app, int &exitCode);
void addRunCommand(CLI::App &app, int &exitCode);
void addInspectCommand(CLI::App &app, int &exitCode);
void addCoverageCommand(CLI::App &app, int &exitCode);
void addCalibrateCommand(CLI::App &app, int &exitCode);
void addSweepCommand(CLI::App &app, int &exitCode);
void addKVCommand(CLI::App &app, int &exitCode);
void addReportCommand(CLI::App &app, int &exitCode);
void addTraceCommand(CLI::App &app, int &exitCode);

} // namespace layline::tool

#endif // LAYLINE_TOOLS_LAYLINE_COMMANDS_H
