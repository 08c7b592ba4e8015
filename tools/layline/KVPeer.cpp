//===- KVPeer.cpp - one side of a transfer, a process of its own ----------===//
#include "KVPeer.h"
#include "WholeFiles.h"
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace layline;
using namespace layline::tool;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

// Numbers of the child's files; what the child inherits is these and its
// standard ones.
static constexpr int kMemoryFile = 3, kCommandsFile = 4, kAnswersFile = 5;

static std::string describeError() { return std::strerror(errno); }

SharedMemory::SharedMemory(std::size_t size) : bytes(size) {
  file = memfd_create("layline-kv", MFD_CLOEXEC);
  void *where = MAP_FAILED;
  if (file >= 0 && ftruncate(file, static_cast<off_t>(bytes)) == 0)
    where = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (where == MAP_FAILED) {
    std::string why = describeError();
    if (file >= 0)
      close(file);
    throw PeerError("memory of a rank, " + std::to_string(bytes) +
                        " bytes, cannot be had: " + why,
                    Unusable);
  }
  data = static_cast<std::uint8_t *>(where);
}

SharedMemory::~SharedMemory() {
  munmap(data, bytes);
  close(file);
}

TemporaryFolder::TemporaryFolder() {
  std::error_code failed;
  std::filesystem::path base = std::filesystem::temp_directory_path(failed);
  path = (base / "layline-kv-XXXXXX").string();
  if (failed || !mkdtemp(path.data()))
    throw PeerError(path + ": cannot be made: " +
                        (failed ? failed.message() : describeError()),
                    Unusable);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

namespace {
struct Pipe {
  int ends[2] = {-1, -1};
  Pipe() {
    if (pipe2(ends, O_CLOEXEC))
      throw PeerError("no pipe can be made: " + describeError(), Unusable);
  }
  ~Pipe() {
    for (int end : ends)
      if (end >= 0)
        close(end);
  }
  int take(int end) { return std::exchange(ends[end], -1); }
};
} // namespace

/// In the child, between fork and exec: calls that may be made there only.
[[noreturn]] static void runChild(const int (&files)[3], int log,
                                  const char *const *arguments) {
  // It must not outlive the command, even while an engine waits.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // First out of the way of the numbers that they get.
  int high[4];
  for (int i = 0; i < 3; ++i)
    high[i] = fcntl(files[i], F_DUPFD, 16);
  high[3] = fcntl(log, F_DUPFD, 16);
  dup2(high[0], kMemoryFile);
  dup2(high[1], kCommandsFile);
  dup2(high[2], kAnswersFile);
  dup2(high[3], STDOUT_FILENO);
  dup2(high[3], STDERR_FILENO);
  for (int file : high)
    close(file);
  execvp(arguments[0], const_cast<char *const *>(arguments));
  const char *why = std::strerror(errno);
  (void)!write(STDERR_FILENO, why, std::strlen(why));
  _exit(127);
}

KVPeer::KVPeer(std::string side, const Setup &setup, const SharedMemory &memory)
    : name(std::move(side)), logPath(setup.folder + "/" + name + ".log"),
      seconds(setup.seconds) {
  Pipe toChild, fromChild;
  int log =
      open(logPath.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
  if (log < 0)
    throw PeerError(logPath + ": cannot be written: " + describeError(),
                    Unusable);
  std::string script = setup.folder + "/layline_kv_send.py";
  std::string files[3] = {std::to_string(kMemoryFile),
                          std::to_string(kCommandsFile),
                          std::to_string(kAnswersFile)};
  const char *arguments[] = {setup.python.c_str(),
                             script.c_str(),
                             setup.engine.c_str(),
                             files[0].c_str(),
                             files[1].c_str(),
                             files[2].c_str(),
                             nullptr};
  int inherited[3] = {memory.getFile(), toChild.ends[0], fromChild.ends[1]};
  // What the processes are to find in their environment.
  setenv("LAYLINE_KV_LIBRARY", setup.library.c_str(), 1);
  setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
  // Loopback is TCP here: shared memory between processes of one machine would
  // not be what two machines do.
  setenv("UCX_TLS", "tcp", 0);
  setenv("NIXL_LOG_LEVEL", "ERROR", 0);
  // The queue limit that is shown to hold is the one that deployments have.
  unsetenv("MC_TCP_MAX_QUEUED_TRANSFERS_PER_PEER");
  pid = fork();
  if (pid == 0)
    runChild(inherited, log, arguments);
  close(log);
  if (pid < 0)
    throw PeerError("no process can be started: " + describeError(), Unusable);
  commands = toChild.take(1);
  answers = fromChild.take(0);
}

KVPeer::~KVPeer() {
  close(commands);
  close(answers);
  // It has nothing to put in order: what it maps is not its own.
  if (pid > 0) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
}

std::string KVPeer::getLastLines() const {
  std::string error;
  std::string text = readFile(logPath, error).value_or("");
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  constexpr std::size_t kMost = 600;
  if (text.size() > kMost)
    text = "..." + text.substr(text.size() - kMost);
  return text.empty() ? "; it printed nothing" : "; it printed:\n" + text;
}

void KVPeer::fail(const std::string &what, ExitCode exitCode) const {
  throw PeerError(name + ", " + doing + ": " + what, exitCode);
}

void KVPeer::failEnded() const {
  // It closes its pipes as it ends; a moment later it has.
  std::string how;
  for (int i = 0; i < 100 && how.empty(); ++i) {
    int status = 0;
    if (waitpid(pid, &status, WNOHANG) != pid) {
      usleep(10000);
      continue;
    }
    pid = -1;
    how = WIFSIGNALED(status) ? " by signal " + std::to_string(WTERMSIG(status))
                              : " with " + std::to_string(WEXITSTATUS(status));
  }
  fail("the process has ended" + how + getLastLines(),
       doing == "start" || doing == "open" ? Unusable : Refused);
}

void KVPeer::tell(const char *what, json arguments) {
  arguments["do"] = what;
  doing = what;
  std::string line = arguments.dump() + "\n";
  for (std::size_t at = 0; at < line.size();) {
    ssize_t written = write(commands, line.data() + at, line.size() - at);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      failEnded();
    at += static_cast<std::size_t>(written);
  }
}

json KVPeer::hear(const KVPeer &other) {
  Clock::time_point end = Clock::now() + std::chrono::seconds(seconds);
  std::size_t newline;
  while ((newline = received.find('\n')) == std::string::npos) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - Clock::now());
    if (left.count() <= 0)
      fail("no answer within " + std::to_string(seconds) + " s" +
               getLastLines(),
           Refused);
    // Of the other side only the end is of interest, which is an event that
    // need not be asked for.
    pollfd files[2] = {{answers, POLLIN, 0}, {other.answers, 0, 0}};
    if (poll(files, 2, static_cast<int>(left.count())) < 0 && errno != EINTR)
      fail("cannot be waited for: " + describeError(), Refused);
    if (files[0].revents) {
      char buffer[65536];
      ssize_t count = read(answers, buffer, sizeof buffer);
      if (count <= 0)
        failEnded();
      received.append(buffer, static_cast<std::size_t>(count));
    } else if (files[1].revents) {
      other.failEnded();
    }
  }
  json answer = json::parse(received.substr(0, newline), nullptr, false);
  received.erase(0, newline + 1);
  if (!answer.is_object())
    fail("found an answer that is no JSON object", Refused);
  if (answer.contains("missing"))
    fail(answer["missing"].get<std::string>(), Unusable);
  if (answer.contains("error"))
    fail(answer["error"].get<std::string>(), Refused);
  return answer;
}
