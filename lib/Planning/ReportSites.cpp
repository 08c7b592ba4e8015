//===- ReportSites.cpp - what became of every all_reduce ------------------===//
#include "VariantPrices.h"
#include "layline/Planning/Passes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringExtras.h"

namespace layline {
#define GEN_PASS_DEF_PLANREPORTSITES
#include "lib/Planning/Passes.h.inc"
} // namespace layline

using namespace mlir;
using namespace layline;
using namespace layline::grid;

/// The ops of the kernel that pays the sum; the sum alone if it is not fused.
static SmallVector<StringRef> getKernelOps(Operation *sum) {
  SmallVector<StringRef> names;
  if (!isa<FusedOp>(sum->getParentOp())) {
    names.push_back(sum->getName().stripDialect());
    return names;
  }
  for (Operation &op : sum->getBlock()->without_terminator())
    names.push_back(op.getName().stripDialect());
  return names;
}

namespace {
struct PlanReportSites : layline::impl::PlanReportSitesBase<PlanReportSites> {
  using PlanReportSitesBase::PlanReportSitesBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    auto tokens = function->getAttrOfType<DenseI64ArrayAttr>(kVariantTokens);
    if (!tokens || tokens.size() != 2)
      return;
    Builder builder(&getContext());
    auto why = function->getAttrOfType<StringAttr>(kVariantReason);
    SmallVector<Attribute> sites;
    DenseSet<Attribute> combined;
    function.walk([&](CombineOp combine) {
      if (StringAttr site = combine.getSiteAttr())
        combined.insert(site);
    });
    function.walk([&](Operation *sum) {
      if (!isa<ReduceScatterOp, AllReduceOp, CombineOp>(sum))
        return;
      auto site = sum->getAttrOfType<StringAttr>("site");
      // What joins rows that come back is reported with them.
      if (!site || (!isa<CombineOp>(sum) && combined.contains(site)))
        return;
      bool applied = !isa<AllReduceOp>(sum);
      SmallVector<StringRef> became = getKernelOps(sum), was;
      if (isa<CombineOp>(sum)) {
        became = {"dispatch", "combine"};
        was.push_back("all_reduce");
      }
      for (StringRef name : became)
        if (!isa<CombineOp>(sum) && name != "all_gather")
          was.push_back(name == "reduce_scatter" ? "all_reduce" : name);
      auto reason = sum->getAttrOfType<StringAttr>("reason");
      if (std::string priced = describeSite(function, site); !priced.empty())
        reason = builder.getStringAttr(priced);
      if (!reason)
        reason = why ? why : builder.getStringAttr("");
      auto list = [&](ArrayRef<StringRef> names) {
        return builder.getStrArrayAttr(names);
      };
      sites.push_back(builder.getDictionaryAttr(
          {builder.getNamedAttr("became", list(became)),
           builder.getNamedAttr("id", site),
           builder.getNamedAttr("reason", reason),
           builder.getNamedAttr(
               "status", builder.getStringAttr(applied ? "applied" : "missed")),
           builder.getNamedAttr("was", list(was))}));
      auto opts =
          remark::RemarkOpts::name(applied ? "BoundaryByRows" : "BoundaryWhole")
              .category("layline");
      auto emitted = applied ? remark::passed(sum->getLoc(), opts)
                             : remark::missed(sum->getLoc(), opts);
      emitted << (site.getValue() + " for " + Twine(tokens[0]) + ".." +
                  Twine(tokens[1]) + " tokens: " + llvm::join(became, " + ") +
                  "; " + reason.getValue())
                     .str();
    });
    function->setAttr(kVariantSites, builder.getArrayAttr(sites));
  }
};
} // namespace
