// The kernels that are compiled for use, by type of element. nvcc and the
// host's compiler read the same list: what the emulator runs is what a card
// runs.
#ifndef LAYLINE_RUNTIME_KERNELS_INSTANCES_CUH
#define LAYLINE_RUNTIME_KERNELS_INSTANCES_CUH

#include "Broadcast.cuh"
#include "Catalogue.h"
#include "Experts.cuh"
#include "GatherRows.cuh"
#include "OneShot.cuh"
#include "PagedRows.cuh"
#include "Rope.cuh"
#include "RowCollective.cuh"

namespace layline::kernels {

using KernelList = std::vector<Kernel>;

template <typename T> constexpr DType kDType = DType::F32;
template <> inline constexpr DType kDType<bf16> = DType::BF16;
template <> inline constexpr DType kDType<f16> = DType::F16;
template <typename T>
constexpr int kVectorsPerThread = vectorsPerThread(kDType<T>);

template <typename Function>
void addKernel(KernelList &list, const Variant &variant, Function *function) {
  list.push_back({variant, reinterpret_cast<void (*)()>(function)});
}

template <typename T, int P, Input kInput, Output kOutput, typename C>
void addRows(KernelList &list) {
  Variant variant;
  variant.dtype = kDType<T>;
  variant.ranks = P;
  variant.input = kInput;
  variant.output = kOutput;
  variant.norm = C::kNorm;
  variant.function = C::kFunction;
  variant.scales = C::kScales;
  addKernel(list, variant,
            row_collective<T, P, kInput, kOutput, C, kMaxThreads,
                           kVectorsPerThread<T>>);
}

template <typename T, int P, typename C> void addOneShot(KernelList &list) {
  Variant variant;
  variant.family = Family::OneShot;
  variant.dtype = kDType<T>;
  variant.ranks = P;
  variant.norm = C::kNorm;
  variant.scales = C::kScales;
  addKernel(list, variant,
            one_shot<T, P, C, kMaxThreads, kVectorsPerThread<T>>);
}

template <typename T, int P, RopeStyle kStyle, Output kOutput, int W>
void addRope(KernelList &list) {
  Variant variant;
  variant.family = Family::Rope;
  variant.dtype = kDType<T>;
  variant.ranks = P;
  variant.output = kOutput;
  variant.style = kStyle;
  variant.byElement = W == 1;
  addKernel(list, variant, rope<T, P, kStyle, kOutput, W, kCopyThreads>);
}

using Rms = Chain<NormKind::Rms>;
using Layer = Chain<NormKind::Layer>;
template <ScaleKind kScales>
using RmsThen = Chain<NormKind::Rms, Function::None, kScales>;
template <Function kFunction, ScaleKind kScales = ScaleKind::None>
using Activated = Chain<NormKind::None, kFunction, kScales>;
template <ScaleKind kScales>
using Quantized = Chain<NormKind::None, Function::None, kScales>;

/// Of a group of P ranks.
template <typename T, int P> void addGroup(KernelList &list) {
  constexpr auto own = Input::Own;
  constexpr auto owed = Input::Owed, fromSwitch = Input::OwedMulticast;
  constexpr auto stay = Output::Own, all = Output::Everyone,
                 bySwitch = Output::EveryoneMulticast;
  addRows<T, P, owed, all, NoWork>(list); // all_reduce
  addRows<T, P, owed, all, Rms>(list);
  addRows<T, P, owed, all, Layer>(list);
  addRows<T, P, owed, stay, NoWork>(list); // reduce_scatter
  addRows<T, P, owed, stay, Rms>(list);
  addRows<T, P, owed, stay, Layer>(list);
  addRows<T, P, own, all, NoWork>(list); // all_gather
  addRows<T, P, own, all, Rms>(list);
  addRows<T, P, own, all, Activated<Function::Silu>>(list);
  addRows<T, P, own, all, Activated<Function::GeluTanh>>(list);
  addRows<T, P, fromSwitch, bySwitch, NoWork>(list);
  addRows<T, P, fromSwitch, bySwitch, Rms>(list);
  addRows<T, P, fromSwitch, stay, NoWork>(list);
  addRows<T, P, fromSwitch, stay, Rms>(list);
  addRows<T, P, own, bySwitch, NoWork>(list);
  addOneShot<T, P, NoWork>(list);
  addOneShot<T, P, Rms>(list);
  addOneShot<T, P, Layer>(list);
  addRope<T, P, RopeStyle::Half, all, kWidth<T>>(list);
  addRope<T, P, RopeStyle::Interleaved, all, kWidth<T>>(list);
  addRope<T, P, RopeStyle::InterleavedToHalf, all, kWidth<T>>(list);
}

/// Rows in FP8: of models in bf16.
template <typename T, int P> void addQuantizedGroup(KernelList &list) {
  constexpr auto own = Input::Own, owed = Input::Owed,
                 fromSwitch = Input::OwedMulticast;
  constexpr auto stay = Output::Own, all = Output::Everyone,
                 bySwitch = Output::EveryoneMulticast;
  addRows<T, P, owed, all, RmsThen<ScaleKind::Tensor>>(list);
  addRows<T, P, owed, all, RmsThen<ScaleKind::Row>>(list);
  addRows<T, P, owed, all, RmsThen<ScaleKind::Group>>(list);
  addRows<T, P, owed, stay, RmsThen<ScaleKind::Row>>(list);
  addRows<T, P, owed, stay, RmsThen<ScaleKind::Group>>(list);
  addRows<T, P, own, all, Quantized<ScaleKind::Row>>(list);
  addRows<T, P, own, all, Quantized<ScaleKind::Group>>(list);
  addRows<T, P, own, all, RmsThen<ScaleKind::Row>>(list);
  addRows<T, P, own, all, RmsThen<ScaleKind::Group>>(list);
  addRows<T, P, fromSwitch, bySwitch, RmsThen<ScaleKind::Row>>(list);
  addRows<T, P, fromSwitch, bySwitch, RmsThen<ScaleKind::Group>>(list);
  addRows<T, P, own, bySwitch, Quantized<ScaleKind::Row>>(list);
  addRows<T, P, own, bySwitch, Quantized<ScaleKind::Group>>(list);
  addOneShot<T, P, RmsThen<ScaleKind::Tensor>>(list);
  addOneShot<T, P, RmsThen<ScaleKind::Row>>(list);
  addOneShot<T, P, RmsThen<ScaleKind::Group>>(list);
}

/// Of one rank.
template <typename T> void addLocal(KernelList &list) {
  constexpr auto own = Input::Own;
  constexpr auto stay = Output::Own;
  addRows<T, 1, own, stay, NoWork>(list); // adds, scales, gates
  addRows<T, 1, own, stay, Rms>(list);
  addRows<T, 1, own, stay, Layer>(list);
  addRows<T, 1, own, stay, Activated<Function::Silu>>(list);
  addRows<T, 1, own, stay, Activated<Function::Gelu>>(list);
  addRows<T, 1, own, stay, Activated<Function::GeluTanh>>(list);
  addRows<T, 1, own, stay, Activated<Function::Relu>>(list);
  addRows<T, 1, own, stay, Activated<Function::Sigmoid>>(list);
  addRows<T, 1, own, stay, Quantized<ScaleKind::Tensor>>(list);
  addRows<T, 1, own, stay, Quantized<ScaleKind::Row>>(list);
  addRows<T, 1, own, stay, Quantized<ScaleKind::Group>>(list);
  addRows<T, 1, own, stay, Activated<Function::Silu, ScaleKind::Row>>(list);
  addRows<T, 1, own, stay, Activated<Function::Silu, ScaleKind::Group>>(list);
  addRope<T, 1, RopeStyle::Half, stay, kWidth<T>>(list);
  addRope<T, 1, RopeStyle::Interleaved, stay, kWidth<T>>(list);
  addRope<T, 1, RopeStyle::InterleavedToHalf, stay, kWidth<T>>(list);
  addRope<T, 1, RopeStyle::Half, stay, 1>(list);
  addRope<T, 1, RopeStyle::Interleaved, stay, 1>(list);
  addRope<T, 1, RopeStyle::InterleavedToHalf, stay, 1>(list);

  Variant variant;
  variant.dtype = kDType<T>;
  variant.family = Family::PermuteRows;
  addKernel(list, variant, permute_rows<T, kCopyThreads>);
  variant.family = Family::MergeExperts;
  addKernel(list, variant, merge_experts<T, kCopyThreads>);
}

/// All kernels of T, of groups of 2, 3, 4 and 8.
template <typename T> void addKernelsOf(KernelList &list) {
  addLocal<T>(list);
  addGroup<T, 2>(list);
  addGroup<T, 3>(list);
  addGroup<T, 4>(list);
  addGroup<T, 8>(list);
}

// One file each, so that they compile side by side.
void addBF16Kernels(KernelList &list);      // InstancesBF16.cu
void addBF16QuantKernels(KernelList &list); // InstancesBF16Quant.cu
void addF16Kernels(KernelList &list);       // InstancesF16.cu
void addF32Kernels(KernelList &list);       // InstancesF32.cu
void addByteKernels(KernelList &list);      // Instances.cu

} // namespace layline::kernels

#endif // LAYLINE_RUNTIME_KERNELS_INSTANCES_CUH
