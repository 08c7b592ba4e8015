//===- KVPeer.h - one side of a transfer, a process of its own --*- C++ -*-===//
#ifndef LAYLINE_TOOLS_LAYLINE_KVPEER_H
#define LAYLINE_TOOLS_LAYLINE_KVPEER_H

#include "Commands.h"
#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace layline::tool {

/// A transfer that cannot be made, or came to nothing: names the side, what it
/// did and what was found.
class PeerError : public std::runtime_error {
public:
  PeerError(const std::string &what, ExitCode exitCode)
      : std::runtime_error(what), exitCode(exitCode) {}
  ExitCode exitCode;
};

/// Memory that processes share: a file without a name.
class SharedMemory {
public:
  /// Throws PeerError if there is not enough.
  explicit SharedMemory(std::size_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory &) = delete;
  SharedMemory &operator=(const SharedMemory &) = delete;

  std::uint8_t *getData() const { return data; }
  std::size_t countBytes() const { return bytes; }
  int getFile() const { return file; }

private:
  int file = -1;
  std::uint8_t *data = nullptr;
  std::size_t bytes = 0;
};

/// A folder for as long as a transfer takes.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;
  const std::string &getPath() const { return path; }

private:
  std::string path;
};

/// A process that answers commands, each a JSON object on a line
/// (runtime/python/layline_kv_send.py). It ends with this object, however far
/// it has come.
class KVPeer {
public:
  struct Setup {
    std::string python, engine;
    std::string folder;  ///< where the scripts lie, and what it prints goes
    std::string library; ///< liblayline_kv.so
    int seconds = 0;     ///< that an answer may take
  };

  /// `name` is "source" or "target", for messages.
  KVPeer(std::string name, const Setup &setup, const SharedMemory &memory);
  ~KVPeer();
  KVPeer(const KVPeer &) = delete;
  KVPeer &operator=(const KVPeer &) = delete;

  void tell(const char *what, nlohmann::json arguments);
  /// Its answer to what it was last told. Throws PeerError if it says that it
  /// failed, ends, or is not there in time; also if `other` ends meanwhile.
  nlohmann::json hear(const KVPeer &other);
  nlohmann::json ask(const char *what, nlohmann::json arguments,
                     const KVPeer &other) {
    tell(what, std::move(arguments));
    return hear(other);
  }

private:
  [[noreturn]] void fail(const std::string &what, ExitCode exitCode) const;
  /// Throws because the process has ended.
  [[noreturn]] void failEnded() const;
  std::string getLastLines() const;

  std::string name, logPath, doing = "start";
  int seconds;
  mutable int pid = -1; ///< -1 also once it is known to have ended
  int commands = -1, answers = -1;
  std::string received;
};

} // namespace layline::tool

#endif // LAYLINE_TOOLS_LAYLINE_KVPEER_H
