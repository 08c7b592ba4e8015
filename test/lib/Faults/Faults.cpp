//===- Faults.cpp - the table of faults -----------------------------------===//
#include "FaultFinder.h"

using namespace mlir;
using namespace layline;
using namespace layline::test;

StringRef test::stringifyFaultEffect(FaultEffect effect) {
  switch (effect) {
  case FaultEffect::Value:
    return "value";
  case FaultEffect::Order:
    return "order";
  case FaultEffect::Lifetime:
    return "lifetime";
  case FaultEffect::Ranges:
    return "ranges";
  }
  return "";
}

static constexpr auto Value_ = FaultEffect::Value;
static constexpr auto Order = FaultEffect::Order;
static constexpr auto Lifetime = FaultEffect::Lifetime;
static constexpr auto Ranges = FaultEffect::Ranges;
static constexpr auto Program = FaultForm::Program;
static constexpr auto Relabel = FaultForm::Relabel;
static constexpr auto Plan = FaultForm::Plan;

static const FaultKind kKinds[] = {
    // Sums and gathers.
    {"drop-reduce", "a sum is never taken", Value_, Program, findDropReduce},
    {"drop-gather", "parts are never put together", Value_, Program,
     findDropGather},
    {"output-left-in-parts", "a result of the program is never put together",
     Ranges, Program, findOutputLeftInParts},
    {"reduce-twice", "a sum that has been taken is taken again", Value_,
     Program, findReduceTwice},
    {"wrong-group", "a collective runs over another mesh axis", Value_, Program,
     findWrongGroup},
    {"wrong-root",
     "a broadcast waits for a rank that its group does not have (of those that "
     "it has, each would do: copies are equal)",
     Order, Program, findWrongRoot},
    {"scatter-wrong-axis",
     "a sum is scattered along another dimension or mesh axis", Value_, Program,
     findScatterWrongAxis},
    {"gather-wrong-dim", "parts are joined along another dimension", Value_,
     Program, findGatherWrongDim},
    {"deferred-sum-unpaid", "an addend is taken for the sum", Value_, Relabel,
     findDeferredSumUnpaid},
    {"deferred-sum-paid-twice", "a sum is taken for an addend and summed",
     Value_, Relabel, findDeferredSumPaidTwice},
    // Rows and positions.
    {"swap-ranks-rows", "blocks of rows are dealt out or joined one by one",
     Value_, Relabel, findSwapRanksRows},
    {"swap-ranks-columns", "blocks of columns are joined one by one", Value_,
     Relabel, findSwapRanksColumns},
    {"gathered-in-rank-order",
     "zigzag or interleaved rows are joined in the order of the ranks", Value_,
     Relabel, findGatheredInRankOrder},
    {"local-position", "RoPE turns by a rank's local row number", Value_,
     Relabel, findLocalPosition},
    {"mask-by-local-index", "the mask compares local row numbers", Value_,
     Relabel, findMaskByLocalIndex},
    {"rows-of-first-rank", "every rank cuts out the first rows", Value_,
     Relabel, findRowsOfFirstRank},
    {"narrowed-while-needed-whole", "a rank's rows are taken for all rows",
     Value_, Relabel, findNarrowedWhileNeededWhole},
    {"prefix-offset-lost", "key positions without those of the prefix", Value_,
     Program, findPrefixOffsetLost},
    {"history-lost", "attention reads the step's rows without the cache",
     Value_, Program, findHistoryLost},
    {"residual-by-rows-whole-addend",
     "one side of the residual add has all rows", Value_, Program,
     findResidualByRowsWholeAddend},
    // Norms, residuals, biases.
    {"norm-before-reduce", "a norm reads addends", Value_, Program,
     findNormBeforeReduce},
    {"norm-before-residual-add", "a norm reads one side of the residual add",
     Value_, Program, findNormBeforeResidualAdd},
    {"norm-lost", "a norm is left out", Value_, Program, findNormLost},
    {"residual-lost", "a residual add is left out", Value_, Program,
     findResidualLost},
    {"residual-on-every-rank", "the residual is added to a value that owes",
     Value_, Program, findResidualOnEveryRank},
    {"replicated-taken-for-owed",
     "the residual of every rank is taken for an addend", Value_, Relabel,
     findReplicatedTakenForOwed},
    {"residual-of-previous-block", "the add reads an older residual", Value_,
     Program, findResidualOfPreviousBlock},
    {"bias-on-every-rank", "the bias is added before the sum", Value_, Program,
     findBiasOnEveryRank},
    {"bias-lost", "a bias is left out", Value_, Program, findBiasLost},
    {"rope-lost", "a rotation is left out", Value_, Program, findRopeLost},
    {"scale-lost", "a scale is left out", Value_, Program, findScaleLost},
    {"keys-and-values-swapped", "attention reads values for keys", Value_,
     Program, findKeysAndValuesSwapped},
    {"gate-and-up-swapped", "the function is applied to the other half", Value_,
     Program, findGateAndUpSwapped},
    // Weights and heads.
    {"neighbour-weight-slice", "every rank holds its neighbour's slice", Value_,
     Relabel, findNeighbourWeightSlice},
    {"fused-qkv-slice", "a window of a fused tensor is one part too early",
     Value_, Program, findFusedQkvSlice},
    {"wrong-weight", "another weight of the same shape", Value_, Program,
     findWrongWeight},
    {"wrong-layers-weight", "the weight of another layer", Value_, Program,
     findWrongLayersWeight},
    {"periodic-rows-taken-stacked",
     "q, k and v of one head after the other are read as all of q, of k, of v",
     Value_, Program, findPeriodicRowsTakenStacked},
    {"kv-head-modulo", "KV heads are dealt out modulo the ranks", Value_,
     Relabel, findKvHeadModulo},
    {"kv-head-of-first-rank", "every rank holds the first KV heads", Value_,
     Relabel, findKvHeadOfFirstRank},
    {"replicated-head-counted-twice",
     "a norm over all heads counts replicated KV heads again", Value_, Relabel,
     findReplicatedHeadCountedTwice},
    {"statistics-of-all-readers",
     "squares of a KV head are summed on every rank that reads it", Value_,
     Program, findStatisticsOfAllReaders},
    {"padded-head-in-norm", "a norm or a sum over all heads reads padding",
     Value_, Program, findPaddedHeadInNorm},
    {"quantize-scale-of-other-row", "a row is scaled by another row's scale",
     Value_, Relabel, findQuantizeScaleOfOtherRow},
    // Experts on several ranks.
    {"dispatched-by-other-ids", "rows go where other rows' experts are", Value_,
     Program, findDispatchedByOtherIds},
    {"experts-of-other-dispatch", "experts read ids that were sent before",
     Value_, Program, findExpertsOfOtherDispatch},
    {"combined-by-other-ids", "rows come back from other rows' experts", Value_,
     Program, findCombinedByOtherIds},
    {"dispatched-to-fewer-experts",
     "experts are looked for as if there were one less", Value_, Program,
     findDispatchedToFewerExperts},
    {"combine-as-reduce-scatter",
     "rows are summed over ranks that they were not sent to", Value_, Program,
     findCombineAsReduceScatter},
    {"experts-shifted", "every rank holds its neighbour's experts", Value_,
     Relabel, findExpertsShifted},
    // What an op computes.
    {"eps-changed", "a norm has another eps", Value_, Program, findEpsChanged},
    {"norm-width-of-part",
     "the statistic is divided by the number of a rank's features", Value_,
     Program, findNormWidthOfPart},
    {"columns-of-neighbour", "another window of columns is taken", Value_,
     Program, findColumnsOfNeighbour},
    {"norm-weight-offset-lost", "(1 + w) becomes w", Value_, Program,
     findNormWeightOffsetLost},
    {"norm-weight-offset-added", "w becomes (1 + w)", Value_, Program,
     findNormWeightOffsetAdded},
    {"window-changed", "a window of another length", Value_, Program,
     findWindowChanged},
    {"window-lost", "all keys in place of a window", Value_, Program,
     findWindowLost},
    {"window-added", "a window in place of all keys", Value_, Program,
     findWindowAdded},
    {"causal-lost", "a row sees later rows", Value_, Program, findCausalLost},
    {"attention-scale-changed", "scores are multiplied by another number",
     Value_, Program, findAttentionScaleChanged},
    {"scale-changed", "a value is multiplied by another number", Value_,
     Program, findScaleChanged},
    {"softcap-changed", "scores or logits are capped at another number", Value_,
     Program, findSoftcapChanged},
    {"softcap-lost", "scores or logits without their cap", Value_, Program,
     findSoftcapLost},
    {"rope-style-changed", "other features form a pair", Value_, Program,
     findRopeStyleChanged},
    {"rope-table-changed", "another angle", Value_, Program,
     findRopeTableChanged},
    {"activation-changed", "another function", Value_, Program,
     findActivationChanged},
    {"scoring-changed", "sigmoid in place of softmax, or the reverse", Value_,
     Program, findScoringChanged},
    {"renormalize-flipped",
     "expert weights are or are not divided by their sum", Value_, Program,
     findRenormalizeFlipped},
    {"top-k-changed", "one expert less", Value_, Program, findTopKChanged},
    {"wrong-layers-cache", "rows are kept in another layer's cache", Value_,
     Program, findWrongLayersCache},
    {"other-planes-cache", "keys are kept as values, or the reverse", Value_,
     Program, findOtherPlanesCache},
    // Token counts.
    {"variant-range-overlap", "a token count belongs to two variants", Ranges,
     Program, findVariantRangeOverlap},
    {"variant-range-gap", "a token count belongs to no variant", Ranges,
     Program, findVariantRangeGap},
    // The plan.
    {"collective-order", "two collectives of a communicator are not ordered",
     Order, Plan, findCollectiveOrder},
    {"event-lost", "a step does not wait for the other stream", Order, Plan,
     findEventLost},
    {"after-lost", "a step does not say what it uses", Order, Plan,
     findAfterLost},
    {"steps-swapped", "a step comes before the one whose result it uses", Order,
     Plan, findStepsSwapped},
    {"wrong-flag", "a collective signals by another group's flag", Order, Plan,
     findWrongFlag},
    {"buffer-reused-while-live", "two live buffers share bytes", Lifetime, Plan,
     findBufferReusedWhileLive},
    {"life-too-short", "a buffer is read after its life", Lifetime, Plan,
     findLifeTooShort},
    {"arena-too-small", "a buffer does not fit its arena", Lifetime, Plan,
     findArenaTooSmall},
    {"row-boundary-off-by-one", "parts begin an item too late", Ranges, Plan,
     findRowBoundaryOffByOne},
    {"remainder-rows-lost", "what remains of the division is held by nobody",
     Ranges, Plan, findRemainderRowsLost},
    {"zigzag-halves-swapped", "the later segment is taken for the earlier",
     Ranges, Plan, findZigzagHalvesSwapped},
};

ArrayRef<FaultKind> test::allFaultKinds() { return kKinds; }

const FaultKind *test::findFaultKind(StringRef name) {
  const FaultKind *kind =
      llvm::find_if(kKinds, [&](const FaultKind &k) { return k.name == name; });
  return kind == std::end(kKinds) ? nullptr : kind;
}

unsigned test::countFaultPlaces(ModuleOp module, const FaultKind &kind) {
  FaultFinder finder(module);
  kind.find(finder);
  return finder.places.size();
}

LogicalResult test::injectFault(ModuleOp module, const FaultKind &kind,
                                unsigned n) {
  FaultFinder finder(module);
  kind.find(finder);
  if (n >= finder.places.size())
    return module.emitError("has no place ")
           << n << " of " << kind.name << " (only " << finder.places.size()
           << ", numbered from 0)";
  finder.places[n]();
  if (kind.form != FaultForm::Plan)
    for (func::FuncOp variant : finder.variants)
      settleTypes(variant);
  return success();
}
