// All ranks as threads of this process.
#ifndef LAYLINE_RUNTIME_TRANSPORTS_THREADS_THREADTRANSPORT_H
#define LAYLINE_RUNTIME_TRANSPORTS_THREADS_THREADTRANSPORT_H

#include "transports/Transport.h"
#include "transports/threads/MeetingPoint.h"

namespace layline::runtime {

class ThreadTransport final : public Transport {
public:
  explicit ThreadTransport(const TransportOptions &options)
      : options_(options) {}

  void connect(const Plan &plan, std::uint64_t identity) override;
  Communicator &group(std::int64_t rank, int group) override {
    return *communicators_[static_cast<std::size_t>(rank)]
                          [static_cast<std::size_t>(group)];
  }
  void begin() override;
  void abort(std::int64_t rank, const std::string &why) override;

private:
  TransportOptions options_;
  std::vector<std::unique_ptr<MeetingPoint>> points_;
  std::vector<std::vector<std::unique_ptr<Communicator>>>
      communicators_; ///< by rank and group
};

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_TRANSPORTS_THREADS_THREADTRANSPORT_H
