//===- Decisions.cpp - choices on tables with rows held out ---------------===//
#include "Decisions.h"
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

using namespace layline;
using namespace layline::test;

const char *test::getName(Split split) {
  switch (split) {
  case Split::Fitted:
    return "all rows fitted";
  case Split::Versions:
    return "every second size of the newest version held out";
  case Split::Sizes:
    return "every second size of every version held out";
  }
  return "";
}

size_t Tally::numBest() const { return numWithin(0); }

size_t Tally::numWithin(double regret) const {
  return size_t(
      std::count_if(decisions.begin(), decisions.end(),
                    [&](const Decision &d) { return d.regret <= regret; }));
}

double Tally::worst() const {
  double most = 0;
  for (const Decision &decision : decisions)
    most = std::max(most, decision.regret);
  return most;
}

Tally &Tally::operator+=(const Tally &other) {
  decisions.insert(decisions.end(), other.decisions.begin(),
                   other.decisions.end());
  return *this;
}

namespace {

bool isPowerOfTwo(int64_t bytes) { return (bytes & (bytes - 1)) == 0; }

int64_t exponentOf(int64_t bytes) {
  int64_t exponent = 0;
  for (; bytes > 1; bytes /= 2)
    ++exponent;
  return exponent;
}

/// Rows of even or odd powers of two, but the first and last of a curve: what
/// is left out is inside the measured range.
bool isHeldOut(const Curve &curve, int64_t bytes, int64_t parity) {
  return isPowerOfTwo(bytes) && exponentOf(bytes) % 2 == parity &&
         bytes != curve.minBytes() && bytes != curve.maxBytes();
}

std::vector<LatencyRow> thinOut(std::vector<LatencyRow> rows, Split split,
                                int64_t parity) {
  for (LatencyRow &row : rows) {
    if (split == Split::Fitted ||
        (split == Split::Versions && row.use == LatencyRow::Use::Older))
      continue;
    std::map<int64_t, double> kept;
    for (auto [bytes, us] : row.curve.measured())
      if (!isHeldOut(row.curve, bytes, parity))
        kept[bytes] = us;
    row.curve = Curve(std::move(kept));
  }
  return rows;
}

/// Rows as measured and as the model has them.
struct Tables {
  std::vector<LatencyRow> measured, model;

  Tables(const std::string &card, Split split, int64_t parity)
      : measured(selectDeployed(getLatencies(), card)),
        model(selectDeployed(thinOut(getLatencies(), split, parity), card)) {}
};

struct Option {
  std::string name;
  double measured = 0, predicted = 0;
};

Decision decide(std::string place, const std::vector<Option> &options) {
  auto chosen = std::min_element(options.begin(), options.end(),
                                 [](const Option &a, const Option &b) {
                                   return a.predicted < b.predicted;
                                 });
  auto best = std::min_element(
      options.begin(), options.end(),
      [](const Option &a, const Option &b) { return a.measured < b.measured; });
  return {std::move(place), chosen->name, best->name,
          chosen->measured / best->measured - 1};
}

/// The fastest of an op's rows; false if none measured those bytes.
bool findFastest(const Tables &tables, const char *op, int64_t ranks,
                 int64_t bytes, Curve::Axes axes, Option &option) {
  option.measured = option.predicted = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < tables.measured.size(); ++i) {
    const LatencyRow &row = tables.measured[i];
    if (row.op != op || row.ranks != ranks ||
        !row.curve.measured().count(bytes))
      continue;
    option.measured = std::min(option.measured, row.curve.measured().at(bytes));
    option.predicted =
        std::min(option.predicted, tables.model[i].curve.at(bytes, axes).us);
  }
  return std::isfinite(option.measured);
}

bool anyHeldOut(const Tables &tables, int64_t ranks,
                const std::vector<std::pair<const char *, int64_t>> &parts,
                int64_t parity) {
  for (const LatencyRow &row : tables.measured)
    for (auto [op, bytes] : parts)
      if (row.op == op && row.ranks == ranks &&
          row.curve.measured().count(bytes) &&
          isHeldOut(row.curve, bytes, parity))
        return true;
  return false;
}

std::string placeOf(const std::string &card, int64_t ranks, int64_t tokens) {
  return card + ", " + std::to_string(ranks) + " ranks, " +
         std::to_string(tokens) + " tokens";
}

constexpr int64_t kRowBytes = 8192 * 2, kMostTokens = 32768;

/// Both halves of a split in turn; everything at once where nothing is held
/// out.
template <typename Function>
Tally overParities(Split split, Function decideAt) {
  Tally tally;
  for (int64_t parity : {0, 1})
    if (parity == 0 || split != Split::Fitted)
      decideAt(parity, tally);
  return tally;
}

} // namespace

Tally test::decideForms(const std::string &card, int64_t ranks, Split split,
                        Curve::Axes axes) {
  return overParities(split, [&](int64_t parity, Tally &tally) {
    Tables tables(card, split, parity);
    for (int64_t share : {1, 2, 4, 8})
      for (int64_t tokens = 1; tokens <= kMostTokens; tokens *= 2) {
        int64_t bytes = tokens * kRowBytes;
        if (split != Split::Fitted &&
            !anyHeldOut(tables, ranks,
                        {{"all_reduce", bytes},
                         {"reduce_scatter", bytes},
                         {"all_gather", bytes / share}},
                        parity))
          continue;
        Option whole, scatter, gather;
        if (!findFastest(tables, "all_reduce", ranks, bytes, axes, whole) ||
            !findFastest(tables, "reduce_scatter", ranks, bytes, axes,
                         scatter) ||
            !findFastest(tables, "all_gather", ranks, bytes / share, axes,
                         gather))
          continue;
        whole.name = "all_reduce";
        Option rows{"reduce_scatter and all_gather",
                    scatter.measured + gather.measured,
                    scatter.predicted + gather.predicted};
        std::string width =
            share == 1 ? "" : ", gather of 1/" + std::to_string(share);
        tally.decisions.push_back(
            decide(placeOf(card, ranks, tokens) + width, {whole, rows}));
      }
  });
}

Tally test::decideAlgorithms(const std::string &card, int64_t ranks,
                             Split split, Curve::Axes axes) {
  return overParities(split, [&](int64_t parity, Tally &tally) {
    Tables tables(card, split, parity);
    for (int64_t tokens = 1; tokens <= kMostTokens; tokens *= 2) {
      int64_t bytes = tokens * kRowBytes;
      if (split != Split::Fitted &&
          !anyHeldOut(tables, ranks, {{"all_reduce", bytes}}, parity))
        continue;
      std::vector<Option> options;
      for (size_t i = 0; i < tables.measured.size(); ++i) {
        const LatencyRow &row = tables.measured[i];
        if (row.op == "all_reduce" && row.ranks == ranks &&
            row.curve.measured().count(bytes))
          options.push_back({row.label(), row.curve.measured().at(bytes),
                             tables.model[i].curve.at(bytes, axes).us});
      }
      tally.decisions.push_back(decide(placeOf(card, ranks, tokens), options));
    }
  });
}

Tally test::decideBoundaries(Split split, Curve::Axes axes) {
  // Reference rows too: PyTorch's NCCL ran beside the multimem kernels.
  std::vector<LatencyRow> measured;
  for (const LatencyRow &row : getLatencies())
    if (row.source.rfind("tokenweave", 0) == 0)
      measured.push_back(row);
  return overParities(split, [&](int64_t parity, Tally &tally) {
    std::vector<LatencyRow> model = thinOut(measured, split, parity);
    auto timeOf = [&](const char *op, const char *algorithm, int64_t bytes) {
      for (size_t i = 0; i < measured.size(); ++i)
        if (measured[i].op == op && measured[i].algorithm == algorithm)
          return Option{"", measured[i].curve.measured().at(bytes),
                        model[i].curve.at(bytes, axes).us};
      return Option{};
    };
    auto sum = [](std::string name, std::vector<Option> parts) {
      Option total{std::move(name), 0, 0};
      for (const Option &part : parts) {
        total.measured += part.measured;
        total.predicted += part.predicted;
      }
      return total;
    };
    for (int64_t tokens = 64; tokens <= kMostTokens; tokens *= 2) {
      int64_t bytes = tokens * kRowBytes;
      Option norm = timeOf("row_kernel", "add_rms_norm", 4 * bytes);
      Option part = timeOf("row_kernel", "add_rms_norm", bytes / 2);
      std::vector<Option> options;
      for (const char *algorithm : {"multimem", "nccl"}) {
        options.push_back(sum(std::string(algorithm) + " all_reduce, norm",
                              {timeOf("all_reduce", algorithm, bytes), norm}));
        options.push_back(
            sum(std::string(algorithm) + " reduce_scatter, norm, all_gather",
                {timeOf("reduce_scatter", algorithm, bytes), part,
                 timeOf("all_gather", algorithm, bytes)}));
      }
      options.push_back(sum(
          "fused",
          {timeOf("reduce_scatter_epilogue_all_gather", "tokenweave", bytes)}));
      options.push_back(
          sum("all_reduce and norm in one kernel",
              {timeOf("all_reduce_epilogue", "tokenweave_simple", bytes)}));
      tally.decisions.push_back(
          decide(placeOf("h100_sxm", 8, tokens), options));
    }
  });
}

void Errors::add(double predicted, double measured) {
  double error = std::abs(predicted / measured - 1);
  relative.insert(std::upper_bound(relative.begin(), relative.end(), error),
                  error);
}

double Errors::quantile(double share) const {
  return relative[std::min(relative.size() - 1,
                           size_t(share * double(relative.size())))];
}

Errors test::leaveOneOut(const std::string &card, const std::string &op,
                         Curve::Axes axes) {
  Errors errors;
  for (const LatencyRow &row : getLatencies()) {
    if (row.card != card || row.op != op || !row.isDeployed())
      continue;
    const std::map<int64_t, double> &points = row.curve.measured();
    for (auto [bytes, us] : points) {
      if (bytes == points.begin()->first || bytes == points.rbegin()->first)
        continue;
      std::map<int64_t, double> others = points;
      others.erase(bytes);
      errors.add(Curve(std::move(others)).at(bytes, axes).us, us);
    }
  }
  return errors;
}
