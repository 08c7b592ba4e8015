// Times on this machine's GPUs, as a table that `layline calibrate` reads:
//   op,ranks,bytes,us,algorithm
// row_kernel: an RMS norm of all rows on one card, bytes read and written.
// all_reduce: NCCL, and the kernels of this runtime step by step. What follows
// an all_reduce in a plan without fused kernels is their sum. Ends with 77, and
// says why, where there is no GPU.
#include "devices/cuda/Card.h"
#include "devices/cuda/HostNumbers.h"
#include "devices/cuda/KernelImages.h"
#include "devices/cuda/Launch.h"
#include "devices/cuda/Nccl.h"
#include "plan/Error.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <vector>

using namespace layline::runtime;
using namespace layline::runtime::cuda;
namespace local = layline::local;

namespace {

constexpr int kRepeats = 20, kRounds = 7;
/// A row of Llama-3.1-70B.
constexpr std::int64_t kWidth = 8192;

using Cards = std::vector<std::unique_ptr<Card>>;

/// Median over rounds of the time of one call, in microseconds, by the first
/// card's clock. `call` enqueues on all cards.
template <typename Call>
double microseconds(const Cards &cards, const std::vector<OwnedStream> &streams,
                    const Call &call) {
  OwnedEvent begin(*cards[0], true), end(*cards[0], true);
  std::vector<double> times;
  for (int round = -1; round < kRounds; ++round) { // the first warms up
    cards[0]->use();
    check(driver().eventRecord(begin.get(), streams[0].get()), "cuEventRecord",
          "bench");
    for (int repeat = 0; repeat < kRepeats; ++repeat)
      call();
    cards[0]->use();
    check(driver().eventRecord(end.get(), streams[0].get()), "cuEventRecord",
          "bench");
    for (const OwnedStream &stream : streams)
      stream.synchronize("bench");
    float milliseconds = 0;
    check(driver().eventElapsed(&milliseconds, begin.get(), end.get()),
          "cuEventElapsedTime", "bench");
    if (round >= 0)
      times.push_back(milliseconds * 1000.0 / kRepeats);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void print(const char *op, std::size_t ranks, std::int64_t bytes, double us,
           const char *algorithm) {
  std::cout << op << ',' << ranks << ',' << bytes << ',' << us << ','
            << algorithm << std::endl;
}

void benchNorm(const Cards &cards, const std::vector<OwnedStream> &streams,
               std::int64_t rows) {
  Card &card = *cards[0];
  std::int64_t bytes = rows * kWidth * 2;
  DeviceMemory input(card, static_cast<std::size_t>(bytes), "rows"),
      output(card, static_cast<std::size_t>(bytes), "rows"),
      weight(card, kWidth * 2, "weight"),
      parameters(card, sizeof(local::NormParams), "parameters");
  local::NormParams p;
  p.input = {input.as<void>(), NumberType::BF16};
  p.output = {output.as<void>(), NumberType::BF16};
  p.weight = {weight.as<void>(), NumberType::BF16};
  p.rows = rows;
  p.width = kWidth;
  p.eps = 1e-5F;
  copyIn(card, parameters.address(), &p, sizeof p, "parameters");
  KernelLaunch norm;
  norm.function = card.kernel("layline_norm");
  norm.symbol = "layline_norm";
  norm.blocks = static_cast<unsigned>(
      std::min<std::int64_t>(rows, card.multiprocessors() * 16));
  norm.threads = local::kThreads;
  double us = microseconds(cards, streams, [&] {
    launch(card, norm, parameters.address(), streams[0].get());
  });
  print("row_kernel", 1, 2 * bytes, us, "layline_norm");
}

void benchNccl(const Cards &cards, const std::vector<OwnedStream> &streams,
               const std::vector<NcclComm> &comms, std::int64_t rows) {
  std::int64_t bytes = rows * kWidth * 2;
  std::vector<DeviceMemory> values;
  for (const std::unique_ptr<Card> &card : cards)
    values.emplace_back(*card, static_cast<std::size_t>(bytes), "rows");
  double us = microseconds(cards, streams, [&] {
    checkNccl(nccl().groupStart(), "ncclGroupStart", "bench");
    for (std::size_t c = 0; c < cards.size(); ++c)
      checkNccl(nccl().allReduce(values[c].as<void>(), values[c].as<void>(),
                                 static_cast<std::size_t>(bytes / 2),
                                 NcclType::BFloat16, kNcclSum, comms[c],
                                 streams[c].get()),
                "ncclAllReduce", "bench");
    checkNccl(nccl().groupEnd(), "ncclGroupEnd", "bench");
  });
  print("all_reduce", cards.size(), bytes, us, "nccl");
}

void bench() {
  int count = 0;
  check(driver().deviceCount(&count), "cuDeviceGetCount", "bench");
  Cards cards;
  std::vector<OwnedStream> streams;
  for (int c = 0; c < count; ++c) {
    cards.push_back(std::make_unique<Card>(c));
    streams.emplace_back(*cards.back());
  }
  cards[0]->kernel("layline_norm"); // whether the build has kernels
  std::cerr << "gpu-bench: " << count << " cards, the first "
            << cards[0]->name() << ", kernels of " << kernelImagesReason()
            << std::endl;
  std::cout << "op,ranks,bytes,us,algorithm" << std::endl;
  for (std::int64_t rows = 1; rows <= 8192; rows *= 4)
    benchNorm(cards, streams, rows);
  if (count < 2) {
    std::cerr << "gpu-bench: one card: NCCL has nobody to talk to" << std::endl;
    return;
  }
  std::vector<NcclComm> comms(cards.size());
  std::vector<int> ordinals;
  for (const std::unique_ptr<Card> &card : cards)
    ordinals.push_back(card->ordinal());
  checkNccl(nccl().initAll(comms.data(), count, ordinals.data()),
            "ncclCommInitAll", "bench");
  Cleanup cleanup;
  for (NcclComm comm : comms)
    cleanup.add([comm] { nccl().destroy(comm); });
  for (std::int64_t rows = 1; rows <= 8192; rows *= 2)
    benchNccl(cards, streams, comms, rows);
}

} // namespace

int main() {
  try {
    driver();
  } catch (const Error &error) {
    std::cerr << "gpu-bench: nothing was measured: " << error.what()
              << std::endl;
    return 77;
  }
  try {
    bench();
  } catch (const Error &error) {
    std::cerr << "gpu-bench: " << error.what() << std::endl;
    return 1;
  }
  return 0;
}
