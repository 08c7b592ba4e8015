// Ranks as threads of a test that exchange messages: what MPI does, and what
// becomes of processes, where a test can decide it.
#ifndef LAYLINE_TEST_UNIT_RUNTIME_THREADLINK_H
#define LAYLINE_TEST_UNIT_RUNTIME_THREADLINK_H

#include "transports/mpi/Link.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace layline::test {

class ThreadLink;

/// The links of all ranks of a run.
class ThreadLinks {
public:
  explicit ThreadLinks(int ranks);
  ThreadLink &operator[](int rank) {
    return *links_[static_cast<std::size_t>(rank)];
  }
  int size() const { return static_cast<int>(links_.size()); }

private:
  friend class ThreadLink;
  struct Message {
    int from, tag;
    std::vector<std::byte> bytes;
  };
  struct Mailbox {
    std::mutex mutex;
    std::deque<Message> messages;
    std::atomic<bool> isGone{false};
  };
  std::vector<std::unique_ptr<Mailbox>> mailboxes_;
  std::vector<std::unique_ptr<ThreadLink>> links_;
};

class ThreadLink final : public runtime::Link {
public:
  ThreadLink(ThreadLinks &all, int rank) : all_(all), rank_(rank) {}

  /// As if the process were killed.
  void die() { mailbox(rank_).isGone = true; }

  /// How often this rank looks for a message before it sees it.
  int looks = 0;

  int rank() const override { return rank_; }
  int size() const override { return all_.size(); }
  int maxTag() const override { return 1 << 30; }

  Request send(int to, int tag, const void *data, std::size_t bytes) override {
    const auto *from = static_cast<const std::byte *>(data);
    ThreadLinks::Mailbox &box = mailbox(to);
    std::lock_guard<std::mutex> lock(box.mutex);
    box.messages.push_back({rank_, tag, {from, from + bytes}});
    return post({-1, tag, nullptr, 0, 0});
  }
  Request receive(int from, int tag, void *data, std::size_t room) override {
    return post({from, tag, data, room, 0});
  }
  bool test(Request request, std::size_t &bytes) override {
    auto *posted = static_cast<Posted *>(request);
    if (posted->from >= 0) {
      ThreadLinks::Mailbox &box = mailbox(rank_);
      std::lock_guard<std::mutex> lock(box.mutex);
      auto found = find(box, posted->from, posted->tag);
      if (found == box.messages.end() || posted->looks++ < looks)
        return false;
      bytes = found->bytes.size();
      if (bytes > posted->room)
        throw std::runtime_error("a message is longer than its room");
      if (bytes > 0)
        std::memcpy(posted->data, found->bytes.data(), bytes);
      box.messages.erase(found);
    }
    cancel(posted);
    return true;
  }
  void cancel(Request request) override {
    posted_.erase(std::find_if(posted_.begin(), posted_.end(),
                               [&](const std::unique_ptr<Posted> &each) {
                                 return each.get() == request;
                               }));
  }
  bool probe(int tag, int &from, std::size_t &bytes) override {
    ThreadLinks::Mailbox &box = mailbox(rank_);
    std::lock_guard<std::mutex> lock(box.mutex);
    auto found = find(box, -1, tag);
    if (found == box.messages.end())
      return false;
    from = found->from;
    bytes = found->bytes.size();
    return true;
  }

  bool isGone(int rank) override { return mailbox(rank).isGone; }
  std::string describe(int rank) const override {
    return "thread " + std::to_string(rank);
  }
  void abandon() override { isAbandoned_ = true; }
  bool isAbandoned() const override { return isAbandoned_; }

private:
  struct Posted {
    int from, tag; ///< from -1: sent
    void *data;
    std::size_t room;
    int looks = 0;
  };

  Request post(const Posted &request) {
    posted_.push_back(std::make_unique<Posted>(request));
    return posted_.back().get();
  }
  ThreadLinks::Mailbox &mailbox(int rank) const {
    return *all_.mailboxes_[static_cast<std::size_t>(rank)];
  }
  static std::deque<ThreadLinks::Message>::iterator
  find(ThreadLinks::Mailbox &box, int from, int tag) {
    return std::find_if(box.messages.begin(), box.messages.end(),
                        [&](const ThreadLinks::Message &message) {
                          return message.tag == tag &&
                                 (from < 0 || message.from == from);
                        });
  }

  ThreadLinks &all_;
  int rank_;
  bool isAbandoned_ = false;
  std::vector<std::unique_ptr<Posted>> posted_;
};

inline ThreadLinks::ThreadLinks(int ranks) {
  for (int rank = 0; rank < ranks; ++rank) {
    mailboxes_.push_back(std::make_unique<Mailbox>());
    links_.push_back(std::make_unique<ThreadLink>(*this, rank));
  }
}

} // namespace layline::test

#endif // LAYLINE_TEST_UNIT_RUNTIME_THREADLINK_H
