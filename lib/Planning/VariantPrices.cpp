//===- VariantPrices.cpp - what a variant costs, on the variant -----------===//
#include "VariantPrices.h"
#include "layline/Planning/Passes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Threading.h"
#include "llvm/Support/Format.h"
#include <cmath>
#include <set>

using namespace mlir;
using namespace layline;

static void addNumber(Builder &builder,
                      SmallVectorImpl<NamedAttribute> &members, StringRef name,
                      double us) {
  // What cannot be had has no price.
  if (us != kNever)
    members.push_back(builder.getNamedAttr(name, builder.getF64FloatAttr(us)));
}

template <typename Price>
static void addPrices(Builder &builder,
                      SmallVectorImpl<NamedAttribute> &members,
                      const Price &price) {
  addNumber(builder, members, "today_us", price.today);
  addNumber(builder, members, "unfused_us", price.unfused);
  addNumber(builder, members, "chosen_us", price.chosen);
  addNumber(builder, members, "by_rows_us", price.byRows);
  addNumber(builder, members, "whole_us", price.whole);
  members.push_back(builder.getNamedAttr(
      "confidence", builder.getStringAttr(getName(price.confidence))));
}

static DictionaryAttr toAttribute(Builder &builder, const PlanPrice &price) {
  SmallVector<NamedAttribute> members;
  addPrices(builder, members, price);
  auto count = [&](StringRef name, int64_t number) {
    members.push_back(
        builder.getNamedAttr(name, builder.getI64IntegerAttr(number)));
  };
  count("tokens", price.tokens);
  members.push_back(builder.getNamedAttr("products_us",
                                         builder.getF64FloatAttr(price.fixed)));
  count("phases", price.phases);
  count("phases_today", price.phasesToday);
  count("launches", price.launches);
  count("launches_today", price.launchesToday);
  count("launches_unfused", price.launchesUnfused);
  SmallVector<NamedAttribute> sites;
  for (const SitePrice &site : price.sites) {
    SmallVector<NamedAttribute> entry;
    addPrices(builder, entry, site);
    entry.push_back(
        builder.getNamedAttr("kernel", builder.getStringAttr(site.kernel)));
    entry.push_back(
        builder.getNamedAttr("source", builder.getStringAttr(site.source)));
    sites.push_back(
        builder.getNamedAttr(site.id, builder.getDictionaryAttr(entry)));
  }
  members.push_back(
      builder.getNamedAttr("sites", builder.getDictionaryAttr(sites)));
  return builder.getDictionaryAttr(members);
}

void layline::setPrices(const Planner &planner,
                        ArrayRef<PricedVariant> variants) {
  struct Job {
    const PricedVariant *variant;
    int64_t tokens;
    PlanPrice price;
  };
  std::vector<Job> jobs;
  for (const PricedVariant &variant : variants) {
    auto middle = static_cast<int64_t>(std::llround(std::sqrt(
        static_cast<double>(variant.min) * static_cast<double>(variant.max))));
    for (int64_t tokens : std::set<int64_t>{variant.min, middle, variant.max})
      jobs.push_back({&variant, tokens, {}});
  }
  if (jobs.empty())
    return;
  func::FuncOp first = variants.front().function;
  MLIRContext *context = first.getContext();
  parallelForEach(context, jobs, [&](Job &job) {
    job.price = planner.explainPlan(*job.variant->choice, job.tokens);
  });
  Builder builder(context);
  for (const PricedVariant &variant : variants) {
    SmallVector<Attribute> prices;
    for (const Job &job : jobs)
      if (job.variant == &variant)
        prices.push_back(toAttribute(builder, job.price));
    func::FuncOp function = variant.function;
    function->setAttr(kVariantPrices, builder.getArrayAttr(prices));
  }
}

std::string layline::describeSite(func::FuncOp variant, StringRef site) {
  auto prices = variant->getAttrOfType<ArrayAttr>(kVariantPrices);
  if (!prices || prices.empty())
    return {};
  // The middle of the range speaks for it.
  auto price = dyn_cast<DictionaryAttr>(prices[prices.size() / 2]);
  auto sites = price ? price.getAs<DictionaryAttr>("sites") : DictionaryAttr();
  auto entry = sites ? sites.getAs<DictionaryAttr>(site) : DictionaryAttr();
  auto tokens = price ? price.getAs<IntegerAttr>("tokens") : IntegerAttr();
  if (!entry || !tokens)
    return {};
  std::string text;
  llvm::raw_string_ostream os(text);
  auto us = [&](StringRef name) -> std::optional<double> {
    auto number = entry.getAs<FloatAttr>(name);
    return number ? std::optional(number.getValueAsDouble()) : std::nullopt;
  };
  auto print = [&](StringRef before, StringRef name) {
    if (std::optional<double> number = us(name))
      os << before << llvm::format("%.1f", *number) << " us";
  };
  print("at " + std::to_string(tokens.getInt()) + " tokens ", "chosen_us");
  os << " (" << entry.getAs<StringAttr>("confidence").getValue();
  if (auto source = entry.getAs<StringAttr>("source");
      source && !source.getValue().empty())
    os << ": " << source.getValue();
  os << ")";
  print(", all_reduce and separate kernels ", "today_us");
  print(", the same sharding unfused ", "unfused_us");
  print(", by rows at best ", "by_rows_us");
  print(", whole at best ", "whole_us");
  return text;
}
