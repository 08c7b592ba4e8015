// Messages between the processes that mpirun started, over MPI.
//
// Only point-to-point messages and MPI_Test are used after the start: MPI's own
// collectives and blocking calls wait for ever for a rank that has ended.
#include "transports/mpi/Link.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <mpi.h>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace layline::runtime {
namespace {

void check(int code) {
  if (code == MPI_SUCCESS)
    return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw std::runtime_error("MPI: " + std::string(text, length));
}

/// State and start of a process as of proc(5): fields 3 and 22. False if there
/// is none.
bool readProcess(long process, char &state, std::uint64_t &start) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  if (!std::getline(file, text))
    return false;
  // Behind the name, which may have blanks and brackets in it.
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string skipped;
  fields >> state;
  for (int field = 4; field < 22; ++field)
    fields >> skipped;
  fields >> start;
  return static_cast<bool>(fields);
}

/// Where a rank runs.
struct Place {
  char host[MPI_MAX_PROCESSOR_NAME] = "";
  std::uint64_t processes = 0; ///< the namespace that `process` is a number of
  std::int64_t process = 0;
  std::uint64_t start = 0; ///< a later process of that number has another
};

Place ownPlace() {
  Place place;
  int length = 0;
  check(MPI_Get_processor_name(place.host, &length));
  struct stat status = {};
  if (::stat("/proc/self/ns/pid", &status) == 0)
    place.processes = status.st_ino;
  place.process = ::getpid();
  char state = ' ';
  readProcess(::getpid(), state, place.start);
  return place;
}

/// Ends the process if what it watches does not end in time.
class Watchdog {
public:
  /// `isStuck` is asked every 100 ms and says why, or "".
  Watchdog(double seconds, std::string what, int status,
           std::function<std::string()> isStuck = nullptr)
      : thread_([=] { watch(seconds, what, status, isStuck); }) {}
  ~Watchdog() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      done_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

private:
  void watch(double seconds, const std::string &what, int status,
             const std::function<std::string()> &isStuck) {
    auto end = std::chrono::steady_clock::now() +
               std::chrono::duration<double>(seconds);
    std::unique_lock<std::mutex> lock(mutex_);
    std::string why;
    while (!done_ && why.empty()) {
      changed_.wait_for(lock, std::chrono::milliseconds(100));
      if (std::chrono::steady_clock::now() > end)
        why = "did not end within " + std::to_string(seconds) +
              " s: a rank is missing";
      else if (isStuck)
        why = isStuck();
    }
    if (done_)
      return;
    std::fprintf(stderr, "layline: %s %s\n", what.c_str(), why.c_str());
    std::_Exit(status);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

class MpiLink final : public Link {
public:
  explicit MpiLink(double timeout) : timeout_(timeout) {
    int isRunning = 0;
    check(MPI_Initialized(&isRunning));
    Watchdog watchdog(timeout, "the start of MPI", EXIT_FAILURE);
    if (!isRunning) {
      int provided = MPI_THREAD_SINGLE;
      check(
          MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided));
      isOurs_ = true;
    }
    int provided = MPI_THREAD_SINGLE;
    check(MPI_Query_thread(&provided));
    if (provided < MPI_THREAD_SERIALIZED)
      throw std::runtime_error(
          "MPI was started for one thread only; MPI_THREAD_SERIALIZED is "
          "expected");
    // Apart from what the program itself sends.
    check(MPI_Comm_dup(MPI_COMM_WORLD, &world_));
    check(MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN));
    check(MPI_Comm_rank(world_, &rank_));
    check(MPI_Comm_size(world_, &size_));
    places_.resize(static_cast<std::size_t>(size_));
    Place mine = ownPlace();
    check(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, places_.data(),
                        sizeof mine, MPI_BYTE, world_));
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int maxTag() const override {
    int *bound = nullptr, isSet = 0;
    MPI_Comm_get_attr(world_, MPI_TAG_UB, &bound, &isSet);
    return isSet ? *bound : 32767; // the least that MPI promises
  }

  Request send(int to, int tag, const void *data, std::size_t bytes) override {
    auto posted = std::make_unique<Posted>(Posted{MPI_REQUEST_NULL, false});
    check(MPI_Isend(data, countOf(bytes), MPI_BYTE, to, tag, world_,
                    &posted->request));
    return posted.release();
  }
  Request receive(int from, int tag, void *data, std::size_t room) override {
    auto posted = std::make_unique<Posted>(Posted{MPI_REQUEST_NULL, true});
    check(MPI_Irecv(data, countOf(room), MPI_BYTE, from, tag, world_,
                    &posted->request));
    return posted.release();
  }
  bool test(Request request, std::size_t &bytes) override {
    auto *posted = static_cast<Posted *>(request);
    int isDone = 0, count = 0;
    MPI_Status status;
    check(MPI_Test(&posted->request, &isDone, &status));
    if (!isDone)
      return false;
    delete posted;
    check(MPI_Get_count(&status, MPI_BYTE, &count));
    bytes = static_cast<std::size_t>(count);
    return true;
  }
  void cancel(Request request) override {
    std::unique_ptr<Posted> posted(static_cast<Posted *>(request));
    int isDone = 0;
    // Open MPI cancels receives that no message has come for, and no sends.
    if (posted->isReceive)
      check(MPI_Cancel(&posted->request));
    check(MPI_Test(&posted->request, &isDone, MPI_STATUS_IGNORE));
    if (isDone)
      return;
    abandon();
    check(MPI_Request_free(&posted->request));
  }
  bool probe(int tag, int &from, std::size_t &bytes) override {
    int isHere = 0, count = 0;
    MPI_Status status;
    check(MPI_Iprobe(MPI_ANY_SOURCE, tag, world_, &isHere, &status));
    if (!isHere)
      return false;
    check(MPI_Get_count(&status, MPI_BYTE, &count));
    from = status.MPI_SOURCE;
    bytes = static_cast<std::size_t>(count);
    return true;
  }

  bool isGone(int rank) override {
    const Place &place = places_[static_cast<std::size_t>(rank)],
                &mine = places_[static_cast<std::size_t>(rank_)];
    if (std::strcmp(place.host, mine.host) != 0 ||
        place.processes != mine.processes)
      return false;
    char state = ' ';
    std::uint64_t start = 0;
    return !readProcess(place.process, state, start) || start != place.start ||
           state == 'Z' || state == 'X';
  }
  std::string describe(int rank) const override {
    const Place &place = places_[static_cast<std::size_t>(rank)];
    return "process " + std::to_string(place.process) + " on " + place.host;
  }

  void abandon() override { isAbandoned_ = true; }
  bool isAbandoned() const override { return isAbandoned_; }

  /// At the end of the process, which ends with `status`.
  void finish(int status) {
    int isOver = 0;
    MPI_Finalized(&isOver);
    if (!isOurs_ || isOver)
      return;
    if (isAbandoned_ || anyGone())
      return linger();
    // It waits for all ranks; they may be gone when they have been waited for,
    // but not long before.
    int looks = 0;
    Watchdog watchdog(
        timeout_, "the end of MPI", status ? status : EXIT_FAILURE, [&] {
          looks = anyGone() ? looks + 1 : 0;
          return looks < 20 ? std::string() : "waits for ranks that are gone";
        });
    MPI_Finalize();
  }

private:
  struct Posted {
    MPI_Request request;
    bool isReceive;
  };

  static int countOf(std::size_t bytes) {
    // MessageTransport sends no longer ones.
    if (bytes > std::size_t(1) << 30)
      throw std::runtime_error("a message of " + std::to_string(bytes) +
                               " bytes; at most 2^30 are expected");
    return static_cast<int>(bytes);
  }
  /// When a process ends without MPI_Finalize, mpirun ends the others: it gives
  /// them a moment first, to say what they know.
  void linger() {
    std::fflush(nullptr);
    for (int looks = 0; looks < 20 && anyLeft(); ++looks)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  bool anyLeft() {
    for (int rank = 0; rank < size_; ++rank)
      if (rank != rank_ && !isGone(rank))
        return true;
    return false;
  }
  bool anyGone() {
    for (int rank = 0; rank < size_; ++rank)
      if (rank != rank_ && isGone(rank))
        return true;
    return false;
  }

  double timeout_;
  bool isOurs_ = false;
  std::atomic<bool> isAbandoned_{false};
  MPI_Comm world_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  std::vector<Place> places_;
};

} // namespace
} // namespace layline::runtime

extern "C" [[gnu::visibility("default")]] layline::runtime::Link *
layline_open_link_1(double timeout, std::string &error) {
  using layline::runtime::MpiLink;
  try {
    // Lives to the end of the process; on_exit(3) has the status to end with.
    auto *link = new MpiLink(timeout);
    ::on_exit([](int status,
                 void *data) { static_cast<MpiLink *>(data)->finish(status); },
              link);
    return link;
  } catch (const std::exception &failure) {
    error = failure.what();
    return nullptr;
  }
}
