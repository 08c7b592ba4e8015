#include "transports/mpi/Notices.h"

#include "transports/mpi/Pause.h"

#include <cstring>
#include <exception>
#include <vector>

namespace layline::runtime {
namespace {

struct Header {
  std::uint64_t engine, kind;
};

/// Short enough for MPI to send without waiting for the receiver: Open MPI does
/// so up to 4,096 bytes between processes of a machine (btl_vader_eager_limit),
/// and up to 64 KiB over TCP.
constexpr std::size_t kLongestText = 2000;

} // namespace

void Notices::receive() {
  auto &unread = link_.unread;
  int from = 0;
  std::size_t bytes = 0;
  while (link_.probe(kNoticeTag, from, bytes)) {
    std::string message(bytes, '\0');
    Link::Request request =
        link_.receive(from, kNoticeTag, message.data(), bytes);
    Pause pause;
    // It is here already.
    while (!link_.test(request, bytes))
      pause();
    if (bytes >= sizeof(Header))
      unread.emplace_back(from, std::move(message));
  }
  // Those of engines that are gone stay unread: few, and short.
  for (auto notice = unread.begin(); notice != unread.end();) {
    Header header;
    std::memcpy(&header, notice->second.data(), sizeof header);
    if (header.engine != engine_) {
      ++notice;
      continue;
    }
    (header.kind == static_cast<std::uint64_t>(Kind::Failed) ? failed_ : left_)
        .emplace(notice->first, notice->second.substr(sizeof header));
    notice = unread.erase(notice);
  }
}

void Notices::send(Kind kind, const std::string &why) noexcept {
  try {
    Header header{engine_, static_cast<std::uint64_t>(kind)};
    std::string message(reinterpret_cast<const char *>(&header), sizeof header);
    tell(message + why.substr(0, kLongestText));
  } catch (const std::exception &) {
    // Others find out by themselves: the process ends, or the time is over.
  }
}

void Notices::tell(const std::string &message) {
  struct Sent {
    int to;
    Link::Request request;
  };
  // If it is not done in time its memory is not freed.
  auto *kept = new std::string(message);
  std::vector<Sent> sent;
  for (int to = 0; to < link_.size(); ++to)
    if (to != link_.rank() && !link_.isGone(to))
      sent.push_back(
          {to, link_.send(to, kNoticeTag, kept->data(), kept->size())});
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  Pause pause;
  while (!sent.empty() && std::chrono::steady_clock::now() < end) {
    for (std::size_t i = 0; i < sent.size();) {
      std::size_t bytes = 0;
      if (link_.test(sent[i].request, bytes) || link_.isGone(sent[i].to))
        sent.erase(sent.begin() + static_cast<std::ptrdiff_t>(i));
      else
        ++i;
    }
    if (!sent.empty())
      pause();
  }
  if (sent.empty())
    delete kept;
  else
    link_.abandon();
}

} // namespace layline::runtime
