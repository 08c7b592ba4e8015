#include "BenchTable.h"

#include "devices/cuda/KernelImages.h"
#include "layline/Cost/GpuBenchTable.h"
#include "plan/Error.h"

#include <algorithm>
#include <iomanip>
#include <ostream>
#include <sstream>

namespace layline::test {

using namespace layline::runtime::cuda;
using runtime::concat;

double microseconds(const CardSet &cards, const BenchOptions &options,
                    const std::function<void()> &call) {
  OwnedEvent begin(cards[0], true), end(cards[0], true);
  auto record = [&](const OwnedEvent &event) {
    cards[0].use();
    check(driver().eventRecord(event.get(), cards.stream(0).get()),
          "cuEventRecord", "bench");
  };
  std::vector<double> times;
  for (int round = -options.warmUpRounds; round < options.rounds; ++round) {
    record(begin);
    for (int repeat = 0; repeat < options.repeats; ++repeat)
      call();
    record(end);
    for (std::size_t c = 0; c < cards.size(); ++c)
      cards.stream(c).synchronize("bench");
    float milliseconds = 0;
    check(driver().eventElapsed(&milliseconds, begin.get(), end.get()),
          "cuEventElapsedTime", "bench");
    if (round >= 0)
      times.push_back(milliseconds * 1000.0 / options.repeats);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

std::string describeCards(const CardSet &cards) {
  int kilohertz = 0, version = 0;
  check(driver().deviceAttribute(&kilohertz, DeviceAttribute::ClockRate,
                                 cards[0].ordinal()),
        "cuDeviceGetAttribute", cards[0].name());
  check(driver().driverVersion(&version), "cuDriverGetVersion", "bench");
  return concat(cards.size(), cards.size() == 1 ? " card, " : " cards, ",
                cards[0].name(), ", up to ", kilohertz / 1000,
                " MHz, driver of CUDA ", version / 1000, ".",
                version % 1000 / 10, ", kernels of ", kernelImagesReason());
}

BenchTable::BenchTable(std::ostream &out, const std::string &machine,
                       const BenchOptions &options)
    : out_(out) {
  out_ << gpubench::kTitle << ": " << machine << "\n# rows of " << options.width
       << " in bf16; medians of " << options.rounds << " rounds of "
       << options.repeats << " calls, " << options.warmUpRounds
       << " rounds before them\n"
       << gpubench::kColumns << std::endl;
}

void BenchTable::add(const std::string &op, int ranks, std::int64_t bytes,
                     double us, const std::string &algorithm) {
  ++rows_;
  out_ << op << ',' << ranks << ',' << bytes << ',' << us << ',' << algorithm
       << std::endl;
}

void BenchTable::end() { out_ << gpubench::end(rows_) << std::endl; }

void BenchComparison::print(std::ostream &out) const {
  std::ostringstream text;
  text << std::fixed << std::setprecision(1);
  text << std::left << std::setw(52) << "one kernel" << std::right
       << std::setw(6) << "ranks" << std::setw(6) << "cards" << std::setw(12)
       << "bytes" << std::setw(10) << "us" << std::setw(10) << "instead"
       << std::setw(8) << "times" << std::setw(10) << "NCCL" << std::setw(8)
       << "times"
       << "  instead of\n";
  auto beside = [&](double us, double other) {
    if (other <= 0)
      text << std::setw(10) << '-' << std::setw(8) << '-';
    else
      text << std::setw(10) << other << std::setw(8) << std::setprecision(2)
           << other / us << std::setprecision(1);
  };
  for (const Line &line : lines_) {
    text << std::left << std::setw(52) << line.form << std::right
         << std::setw(6) << line.ranks << std::setw(6) << line.cards
         << std::setw(12) << line.bytes << std::setw(10) << line.us;
    beside(line.us, line.usInstead);
    beside(line.us, line.usNccl);
    text << "  " << line.instead << '\n';
  }
  out << text.str() << std::flush;
}

} // namespace layline::test
