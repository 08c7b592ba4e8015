//===- AttributeFaults.cpp - an op computes something else ----------------===//
#include "FaultFinder.h"
#include "layline/Planning/Passes.h"

using namespace mlir;
using namespace layline;
using namespace layline::test;
namespace d = layline::decoder;

static FloatAttr scaled(FloatAttr attr, double factor) {
  return FloatAttr::get(attr.getType(), attr.getValueAsDouble() * factor);
}

void test::findEpsChanged(FaultFinder &finder) {
  finder.forEach<d::NormOp>([&](d::NormOp op) {
    finder.addPlace(
        [=]() mutable { op.setEpsAttr(scaled(op.getEpsAttr(), 10)); });
  });
  finder.forEach<d::NormByOp>([&](d::NormByOp op) {
    finder.addPlace(
        [=]() mutable { op.setEpsAttr(scaled(op.getEpsAttr(), 10)); });
  });
}

void test::findNormWidthOfPart(FaultFinder &finder) {
  finder.forEach<d::NormByOp>([&](d::NormByOp op) {
    grid::LayoutAttr layout = grid::getLayout(op.getInput().getType());
    grid::SplitAttr split = layout ? layout.getDims()[1] : grid::SplitAttr();
    int64_t ranks = split ? finder.ranks(split.getAxis()) : 1;
    int64_t width = op.getWidth();
    if (ranks > 1 && width >= ranks)
      finder.addPlace([=]() mutable { op.setWidth(width / ranks); });
  });
}

void test::findColumnsOfNeighbour(FaultFinder &finder) {
  finder.forEach<d::SliceColumnsOp>([&](d::SliceColumnsOp op) {
    int64_t all =
        cast<RankedTensorType>(op.getInput().getType()).getShape().back();
    int64_t taken = cast<RankedTensorType>(op.getType()).getShape().back();
    int64_t begin = op.getBegin();
    int64_t other = begin >= taken ? begin - taken : begin + taken;
    if (other + taken <= all)
      finder.addPlace([=]() mutable { op.setBegin(other); });
  });
}

static void findOffset(FaultFinder &finder, bool hasOffset, double becomes) {
  finder.forEach<d::NormOp>([&](d::NormOp op) {
    if ((op.getWeightOffset().convertToDouble() != 0) == hasOffset)
      finder.addPlace([=]() mutable { op.setWeightOffset(APFloat(becomes)); });
  });
}
void test::findNormWeightOffsetLost(FaultFinder &finder) {
  findOffset(finder, /*hasOffset=*/true, 0);
}
void test::findNormWeightOffsetAdded(FaultFinder &finder) {
  findOffset(finder, /*hasOffset=*/false, 1);
}

/// Attention ops with a window, or without one, get another.
static void findWindow(FaultFinder &finder, bool hasWindow,
                       std::optional<int64_t> (*change)(int64_t)) {
  finder.forEach<d::AttentionOp>([&](d::AttentionOp op) {
    if (op.getWindow().has_value() == hasWindow)
      finder.addPlace(
          [=]() mutable { op.setWindow(change(op.getWindow().value_or(0))); });
  });
}
void test::findWindowChanged(FaultFinder &finder) {
  findWindow(finder, true, [](int64_t window) -> std::optional<int64_t> {
    return window > 1 ? window - 1 : 2;
  });
}
void test::findWindowLost(FaultFinder &finder) {
  findWindow(finder, true,
             [](int64_t) -> std::optional<int64_t> { return std::nullopt; });
}
void test::findWindowAdded(FaultFinder &finder) {
  findWindow(finder, false,
             [](int64_t) -> std::optional<int64_t> { return 2; });
}

void test::findCausalLost(FaultFinder &finder) {
  finder.forEach<d::AttentionOp>([&](d::AttentionOp op) {
    if (op.getCausal())
      finder.addPlace([=]() mutable { op.setCausal(false); });
  });
}

void test::findAttentionScaleChanged(FaultFinder &finder) {
  finder.forEach<d::AttentionOp>([&](d::AttentionOp op) {
    // One key has all the weight, whatever its score.
    if (op.getWindow() != std::optional<uint64_t>(1))
      finder.addPlace(
          [=]() mutable { op.setScaleAttr(scaled(op.getScaleAttr(), 2)); });
  });
}

void test::findScaleChanged(FaultFinder &finder) {
  finder.forEach<d::ScaleOp>([&](d::ScaleOp op) {
    finder.addPlace(
        [=]() mutable { op.setFactorAttr(scaled(op.getFactorAttr(), 2)); });
  });
}

void test::findSoftcapChanged(FaultFinder &finder) {
  finder.forEach<d::AttentionOp>([&](d::AttentionOp op) {
    if (op.getSoftcap() && op.getWindow() != std::optional<uint64_t>(1))
      finder.addPlace(
          [=]() mutable { op.setSoftcapAttr(scaled(op.getSoftcapAttr(), 2)); });
  });
  finder.forEach<d::SoftcapOp>([&](d::SoftcapOp op) {
    finder.addPlace(
        [=]() mutable { op.setCapAttr(scaled(op.getCapAttr(), 2)); });
  });
}

void test::findSoftcapLost(FaultFinder &finder) {
  finder.forEach<d::AttentionOp>([&](d::AttentionOp op) {
    if (op.getSoftcap() && op.getWindow() != std::optional<uint64_t>(1))
      finder.addPlace([=]() mutable { op.removeSoftcapAttr(); });
  });
  finder.forEach<d::SoftcapOp>([&](d::SoftcapOp op) {
    finder.addPlace([=]() mutable { bypass(op, op.getInput()); });
  });
}

void test::findRopeStyleChanged(FaultFinder &finder) {
  finder.forEach<d::RopeOp>([&](d::RopeOp op) {
    // Of two features there is one pair in either style.
    if (op.getTable().getInvFreq().size() > 1)
      finder.addPlace([=]() mutable {
        op.setStyle(op.getStyle() == d::RopeStyle::Half
                        ? d::RopeStyle::Interleaved
                        : d::RopeStyle::Half);
      });
  });
}

void test::findRopeTableChanged(FaultFinder &finder) {
  finder.forEach<d::RopeOp>([&](d::RopeOp op) {
    finder.addPlace([=]() mutable {
      d::RopeTableAttr table = op.getTable();
      SmallVector<double> frequencies(table.getInvFreq().asArrayRef());
      frequencies.front() *= 0.5;
      op.setTableAttr(d::RopeTableAttr::get(
          op.getContext(), DenseF64ArrayAttr::get(op.getContext(), frequencies),
          table.getFactor(), table.getAbove(), table.getLongInvFreq(),
          table.getLongFactor()));
    });
  });
}

void test::findActivationChanged(FaultFinder &finder) {
  auto change = [&](auto op) {
    finder.addPlace([=]() mutable {
      op.setFunction(op.getFunction() == d::Activation::Silu
                         ? d::Activation::Gelu
                         : d::Activation::Silu);
    });
  };
  finder.forEach<d::ActivationOp>(change);
  finder.forEach<d::GatedActivationOp>(change);
  finder.forEach<d::ExpertsOp>(change);
}

/// Of all scores only the order is left.
static bool weighsAlike(d::RouterOp op) {
  return op.getTopK() == 1 && op.getRenormalize();
}
/// The chosen weights add up to one anyway.
static bool addsUpToOne(d::RouterOp op) {
  auto logits = cast<RankedTensorType>(op.getLogits().getType());
  return op.getScoring() == d::Scoring::Softmax &&
         static_cast<int64_t>(op.getTopK()) == logits.getShape().back();
}

void test::findScoringChanged(FaultFinder &finder) {
  finder.forEach<d::RouterOp>([&](d::RouterOp op) {
    if (weighsAlike(op))
      return;
    finder.addPlace([=]() mutable {
      op.setScoring(op.getScoring() == d::Scoring::Softmax
                        ? d::Scoring::Sigmoid
                        : d::Scoring::Softmax);
    });
  });
}

void test::findRenormalizeFlipped(FaultFinder &finder) {
  finder.forEach<d::RouterOp>([&](d::RouterOp op) {
    if (!addsUpToOne(op))
      finder.addPlace(
          [=]() mutable { op.setRenormalize(!op.getRenormalize()); });
  });
}

void test::findTopKChanged(FaultFinder &finder) {
  finder.forEach<d::RouterOp>([&](d::RouterOp op) {
    if (op.getTopK() < 2)
      return;
    finder.addPlace([=]() mutable {
      op.setTopK(op.getTopK() - 1);
      for (Value result : op->getResults()) {
        auto type = cast<RankedTensorType>(result.getType());
        SmallVector<int64_t> shape(type.getShape());
        --shape.back();
        result.setType(RankedTensorType::get(shape, type.getElementType(),
                                             type.getEncoding()));
      }
    });
  });
}

static bool isOfLayer(d::CacheOp op) { return op.getLayer() >= 0; }

void test::findWrongLayersCache(FaultFinder &finder) {
  finder.forEach<d::CacheOp>([&](d::CacheOp op) {
    if (isOfLayer(op))
      finder.addPlace([=]() mutable {
        op.setLayer(op.getLayer() ? op.getLayer() - 1 : 1);
      });
  });
}

void test::findOtherPlanesCache(FaultFinder &finder) {
  finder.forEach<d::CacheOp>([&](d::CacheOp op) {
    if (isOfLayer(op))
      finder.addPlace([=]() mutable {
        op.setPlane(op.getPlane() == d::Plane::Key ? d::Plane::Value
                                                   : d::Plane::Key);
      });
  });
}
