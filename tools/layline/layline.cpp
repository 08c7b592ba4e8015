//===- layline.cpp - compile, prove, run and show launch plans
//--------------===//
#include "Commands.h"
#include <exception>
#include <iostream>

int main(int argc, char **argv) {
  CLI::App app(
      "Layline decides where every row, head and layer of a decoder "
      "lives on a group of cards, what crosses the wire, and proves it.",
      "layline");
  app.set_version_flag("--version", LAYLINE_VERSION);
  app.require_subcommand(1);
  app.footer("Exit codes: 0 good; 1 refused, not proved or not equal; 2 bad "
             "usage or unreadable input.\n\n"
             "Example:\n"
             "  layline compile config.json --tp 8 --target h200x8 --tokens "
             "1:8192 -o plan\n"
             "  layline verify plan\n"
             "  layline inspect plan");
  int exitCode = layline::tool::Good;
  layline::tool::addCompileCommand(app, exitCode);
  layline::tool::addVerifyCommand(app, exitCode);
  layline::tool::addRunCommand(app, exitCode);
  layline::tool::addInspectCommand(app, exitCode);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    // Help and version are no errors; anything else is bad usage.
    return app.exit(error) == 0 ? layline::tool::Good : layline::tool::Unusable;
  } catch (const std::exception &error) {
    std::cerr << "layline: " << error.what() << "\n";
    return layline::tool::Unusable;
  }
  return exitCode;
}
