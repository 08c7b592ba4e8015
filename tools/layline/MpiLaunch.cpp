//===- MpiLaunch.cpp - a command as one process per rank ------------------===//
#include "MpiLaunch.h"
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/prctl.h>
#include <unistd.h>
#include <vector>

using namespace layline::tool;

std::optional<int64_t> layline::tool::mpiRank() {
  // Open MPI's own, then those that launchers for any MPI set.
  for (const char *name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    if (const char *text = std::getenv(name))
      return std::strtoll(text, nullptr, 10);
  return std::nullopt;
}

void layline::tool::endWithMpirun() {
  // A rank that hangs listens to nothing weaker, and one that nobody waits for
  // any more would hold its memory and its processor.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

std::string layline::tool::becomeMpirun(int64_t ranks) {
  std::error_code failed;
  std::string self =
      std::filesystem::read_symlink("/proc/self/exe", failed).string();
  std::ifstream line("/proc/self/cmdline", std::ios::binary);
  std::string argument;
  if (failed || !std::getline(line, argument, '\0'))
    return "the command's own arguments cannot be read from /proc/self";
  // There may be more ranks than processors, and a rank has one thread that
  // computes. Ranks say themselves what went wrong.
  std::vector<std::string> words = {
      "mpirun",    "-n",  std::to_string(ranks), "--oversubscribe", "--quiet",
      "--bind-to", "none"};
  if (::geteuid() == 0)
    words.push_back("--allow-run-as-root");
  words.push_back(self);
  while (std::getline(line, argument, '\0'))
    words.push_back(argument);
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  return std::string("mpirun cannot be started: ") + std::strerror(errno) +
         "; Open MPI is expected (Debian: openmpi-bin)";
}
