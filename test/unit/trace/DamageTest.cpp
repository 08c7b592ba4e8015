//===- DamageTest.cpp - damaged recordings on their plan ------------------===//
//
// The B200 recording, damaged in 200 ways at random: kernels lost, two layers
// cut off, another pass appended, kernels renamed as other engines name them,
// streams split, links to the host lost. What is left must be where it was, and
// the damage be told.
//
//===----------------------------------------------------------------------===//
#include "TraceTests.h"
#include "layline/Trace/PlanFit.h"
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>

using namespace layline::trace;

namespace {

// Drawn once, when no rule of the mapping had been looked at with these.
constexpr unsigned kFirstSeed = 27449226;

/// Names of the same kinds of kernels in other engines and versions.
const std::map<Family, std::vector<std::string>> kOtherNames = {
    {Family::AllReduce,
     {"void vllm::cross_device_reduce_2stage<__nv_bfloat16, "
      "8>(vllm::RankData*)",
      "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096>"
      ")",
      "void sglang::cross_device_reduce_1stage<__nv_bfloat16, 8>(int)"}},
    {Family::Gemm,
     {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_cublas",
      "void "
      "cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_128x64>"}},
    {Family::AddNorm,
     {"void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>(int)"}},
    {Family::Norm, {"void flashinfer::norm::RMSNormKernel<8u, __half>(int)"}},
    {Family::Rope,
     {"void flashinfer::BatchQKApplyRotaryPosIdsCosSinCacheKernel<true>(int)"}},
    {Family::KVStore, {"void (anonymous namespace)::store_kvcache<128l>(int)"}},
    {Family::Attention,
     {"void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<64>>(int)",
      "void flashinfer::BatchPrefillWithPagedKVCacheKernel<1>(int)"}},
    {Family::MoeGemm, {"fused_moe_kernel", "_matmul_ogs_NNT_bf16xbf16xmxfp4"}},
    {Family::Router,
     {"void vllm::moe::topkGatingSoftmax<4, 128, 4, 16>(float const*)"}},
    {Family::MoeFinalize,
     {"void vllm::moe::moe_sum_kernel<c10::BFloat16, 4>(c10::BFloat16*)"}},
};

class Damaged {
public:
  Damaged(const DeviceTrace &whole, const KernelFamilies &families,
          unsigned seed)
      : trace(whole), random(seed) {
    for (size_t i = 0; i < trace.events.size(); ++i)
      origins.push_back({0, i});
    if (chance(0.4))
      append();
    cut = chance(0.5) ? chance(0.5) ? Cut::Begin : Cut::End : Cut::None;
    if (cut != Cut::None)
      cutLayers();
    drop(0.01);
    if (chance(0.5))
      rename(families);
    if (chance(0.5))
      splitStreams();
    if (chance(0.5))
      loseHost();
  }

  enum class Cut { None, Begin, End };
  struct Origin {
    int pass;
    size_t event; ///< of the whole recording
  };

  DeviceTrace trace;
  std::vector<Origin> origins; ///< by event that is left
  std::vector<Origin> dropped;
  Cut cut = Cut::None;
  int numPasses = 1;

private:
  bool chance(double probability) {
    return std::uniform_real_distribution<>(0, 1)(random) < probability;
  }

  void append() {
    int64_t later = trace.span() + 1000000;
    size_t count = trace.events.size();
    for (size_t i = 0; i < count; ++i) {
      DeviceEvent event = trace.events[i];
      event.start += later;
      trace.events.push_back(event);
      origins.push_back({1, i});
    }
    numPasses = 2;
  }

  void keep(const std::vector<bool> &isKept) {
    size_t left = 0;
    for (size_t i = 0; i < isKept.size(); ++i)
      if (isKept[i]) {
        trace.events[left] = trace.events[i];
        origins[left++] = origins[i];
      }
    trace.events.resize(left);
    origins.resize(left);
  }

  /// The first two layers and what is before them, or the last two of the last
  /// pass and what is behind.
  void cutLayers() {
    std::vector<bool> isKept(trace.events.size(), true);
    for (size_t i = 0; i < isKept.size(); ++i)
      if (cut == Cut::Begin)
        isKept[i] = origins[i].pass > 0 ||
                    origins[i].event >= kB200Before + 2 * kB200Layer;
      else
        isKept[i] =
            origins[i].pass + 1 < numPasses ||
            origins[i].event < kB200Before + (kB200Layers - 2) * kB200Layer;
    keep(isKept);
  }

  void drop(double part) {
    std::vector<bool> isKept(trace.events.size(), true);
    for (size_t i = 0; i < isKept.size(); ++i)
      if (chance(part)) {
        isKept[i] = false;
        dropped.push_back(origins[i]);
      }
    keep(isKept);
  }

  void rename(const KernelFamilies &families) {
    std::vector<KernelFamilies::Match> matches = families.classify(trace);
    for (size_t i = 0; i < matches.size(); ++i) {
      auto others = kOtherNames.find(matches[i].family);
      if (others != kOtherNames.end() && chance(0.7))
        trace.names[i] = others->second[random() % others->second.size()];
    }
  }

  void splitStreams() {
    for (DeviceEvent &event : trace.events)
      event.stream = static_cast<int32_t>(7 + random() % 3);
  }

  void loseHost() {
    for (DeviceEvent &event : trace.events)
      event.op = -1;
  }

  std::mt19937 random;
};

} // namespace

TEST_CASE("200 damaged recordings: what is left is where it was",
          "[trace][damage]") {
  DeviceTrace whole = readB200();
  std::vector<ExpectedProgram> programs = expectB200();
  KernelFamilies families = KernelFamilies::builtIn();
  std::vector<KnownPlace> known = knownPlacesB200();
  for (unsigned seed = kFirstSeed; seed < kFirstSeed + 200; ++seed) {
    Damaged damaged(whole, families, seed);
    Mapping mapping = mapTrace(damaged.trace, families, programs);
    CAPTURE(seed, damaged.numPasses, static_cast<int>(damaged.cut));
    REQUIRE(mapping.passes.size() == static_cast<size_t>(damaged.numPasses));
    // One check a recording: a check an event would take longer than mapping.
    std::string wrong;
    for (size_t i = 0; i < damaged.origins.size() && wrong.empty(); ++i) {
      const Damaged::Origin &origin = damaged.origins[i];
      const KnownPlace &place = known[origin.event];
      const Assignment &own = mapping.assignments[i];
      const ExpectedStep *step = mapping.mainStepOf(i);
      if (!own.isAssigned() || own.pass != origin.pass ||
          step->place != place.place || step->module != place.module)
        wrong = "event " + std::to_string(origin.event) + " of pass " +
                std::to_string(origin.pass) + ", " +
                damaged.trace.nameOf(damaged.trace.events[i]).substr(0, 60) +
                ": " + (step ? step->place : "nothing") + ", not " +
                place.place + ": " + mapping.explain(i);
    }
    CHECK(wrong == "");
    // Damage is no other plan.
    for (const std::string &reason : explainConflicts(mapping))
      FAIL_CHECK(reason);
  }
}

TEST_CASE("200 damaged recordings: the damage is told", "[trace][damage]") {
  DeviceTrace whole = readB200();
  std::vector<ExpectedProgram> programs = expectB200();
  KernelFamilies families = KernelFamilies::builtIn();
  std::vector<KnownPlace> known = knownPlacesB200();
  int64_t told = 0;
  for (unsigned seed = kFirstSeed; seed < kFirstSeed + 200; ++seed) {
    Damaged damaged(whole, families, seed);
    Mapping mapping = mapTrace(damaged.trace, families, programs);
    CAPTURE(seed);
    bool cutsBegin = false, cutsEnd = false;
    std::set<std::pair<int32_t, int64_t>> layers;
    for (const Deviation &deviation : mapping.deviations) {
      cutsBegin |= deviation.kind == Deviation::Kind::CutBegin;
      cutsEnd |= deviation.kind == Deviation::Kind::CutEnd;
      layers.insert({deviation.pass, deviation.layer});
    }
    CHECK(cutsBegin == (damaged.cut == Damaged::Cut::Begin));
    CHECK(cutsEnd == (damaged.cut == Damaged::Cut::End));
    for (const Damaged::Origin &origin : damaged.dropped) {
      const KnownPlace &place = known[origin.event];
      // Nothing says how many copies a pass has before its first layer, and a
      // layer at a cut is not whole to compare with.
      bool atCut = (damaged.cut == Damaged::Cut::Begin && origin.pass == 0 &&
                    place.layer <= 2) ||
                   (damaged.cut == Damaged::Cut::End &&
                    origin.pass + 1 == damaged.numPasses && place.layer >= 33);
      if (place.layer < 0 || atCut)
        continue;
      if (!layers.count({origin.pass, place.layer}))
        FAIL_CHECK("nothing is told of event " << origin.event << " of pass "
                                               << origin.pass << ", "
                                               << place.place);
      ++told;
    }
    // Nothing is told of layers that lost nothing.
    for (const Deviation &deviation : mapping.deviations) {
      if (deviation.layer < 0)
        continue;
      auto isOf = [&](const Damaged::Origin &origin) {
        return origin.pass == deviation.pass &&
               known[origin.event].layer == deviation.layer;
      };
      if (std::none_of(damaged.dropped.begin(), damaged.dropped.end(), isOf))
        FAIL_CHECK("told without cause: " << deviation.text);
    }
  }
  CHECK(told > 1000);
}
