//===- layline.cpp - compile, prove, run and show launch plans ------------===//
#include "Commands.h"
#include <cmath>
#include <exception>
#include <iostream>

static CLI::Validator accept(bool (*isGood)(const std::string &),
                             const char *expected) {
  return CLI::Validator(
      [=](const std::string &text) {
        return isGood(text) ? std::string()
                            : "found '" + text + "', expected " + expected;
      },
      "");
}

CLI::Validator layline::tool::wholeNumber() {
  return accept(
      [](const std::string &text) {
        int64_t value;
        return CLI::detail::lexical_cast(text, value);
      },
      "a whole number");
}

CLI::Validator layline::tool::positiveNumber() {
  return accept(
      [](const std::string &text) {
        double value;
        return CLI::detail::lexical_cast(text, value) && std::isfinite(value) &&
               value > 0;
      },
      "a number above 0");
}

/// CLI11 says no more than that a command is missing.
static std::string explain(const CLI::App *app, const CLI::Error &error) {
  if (app->get_subcommands().empty() && !app->remaining().empty() &&
      error.get_name() == "RequiredError") {
    std::vector<const CLI::App *> commands = app->get_subcommands(nullptr);
    std::string names;
    for (size_t i = 0; i < commands.size(); ++i)
      names += (i == 0                     ? ""
                : i + 1 == commands.size() ? " or "
                                           : ", ") +
               commands[i]->get_name();
    return "command: found '" + app->remaining().front() + "', expected " +
           names + "\n";
  }
  return CLI::FailureMessage::simple(app, error);
}

int main(int argc, char **argv) {
  CLI::App app(
      "Layline decides where every row, head and layer of a decoder "
      "lives on a group of cards, what crosses the wire, and proves it.",
      "layline");
  app.set_version_flag("--version", LAYLINE_VERSION);
  app.require_subcommand(1);
  app.failure_message(explain);
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
  layline::tool::addCoverageCommand(app, exitCode);
  layline::tool::addCalibrateCommand(app, exitCode);
  layline::tool::addSweepCommand(app, exitCode);
  layline::tool::addKVCommand(app, exitCode);
  layline::tool::addTraceCommand(app, exitCode);
  layline::tool::addReportCommand(app, exitCode);
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
