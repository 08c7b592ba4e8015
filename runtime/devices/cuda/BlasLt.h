// cuBLASLt as a table of function pointers, opened when the first product is
// planned. Names, values and layouts are those of cublasLt.h 13.1, which keeps
// them from 11.0 on.
#ifndef LAYLINE_RUNTIME_DEVICES_CUDA_BLASLT_H
#define LAYLINE_RUNTIME_DEVICES_CUDA_BLASLT_H

#include "devices/cuda/DriverTypes.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace layline::runtime::cuda {

using BlasStatus = int;                             ///< cublasStatus_t
using BlasHandle = struct BlasHandleObject *;       ///< cublasLtHandle_t
using MatmulDesc = struct MatmulDescObject *;       ///< cublasLtMatmulDesc_t
using MatrixLayout = struct MatrixLayoutObject *;   ///< cublasLtMatrixLayout_t
using MatmulPreference = struct PreferenceObject *; ///< ..MatmulPreference_t

enum class BlasType : int { F32 = 0, F16 = 2, BF16 = 14 }; ///< cudaDataType
inline constexpr int kBlasCompute32F = 68; ///< CUBLAS_COMPUTE_32F
inline constexpr int kBlasTranspose = 1;   ///< CUBLAS_OP_T
inline constexpr int kMatmulTransA = 3;    ///< CUBLASLT_MATMUL_DESC_TRANSA
inline constexpr int kPreferenceWorkspace =
    1; ///< CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES

struct MatmulAlgorithm { // cublasLtMatmulAlgo_t
  std::uint64_t data[8] = {};
};

struct MatmulHeuristic { // cublasLtMatmulHeuristicResult_t
  MatmulAlgorithm algorithm;
  std::size_t workspaceBytes = 0;
  BlasStatus state = 0;
  float waves = 0;
  int reserved[4] = {};
};

/// X(member, symbol, parameters)
#define LAYLINE_BLASLT(X)                                                      \
  X(create, "cublasLtCreate", (BlasHandle * handle))                           \
  X(destroy, "cublasLtDestroy", (BlasHandle handle))                           \
  X(descCreate, "cublasLtMatmulDescCreate",                                    \
    (MatmulDesc * desc, int computeType, BlasType scaleType))                  \
  X(descDestroy, "cublasLtMatmulDescDestroy", (MatmulDesc desc))               \
  X(descSet, "cublasLtMatmulDescSetAttribute",                                 \
    (MatmulDesc desc, int attribute, const void *value, std::size_t bytes))    \
  X(layoutCreate, "cublasLtMatrixLayoutCreate",                                \
    (MatrixLayout * layout, BlasType type, std::uint64_t rows,                 \
     std::uint64_t columns, std::int64_t leading))                             \
  X(layoutDestroy, "cublasLtMatrixLayoutDestroy", (MatrixLayout layout))       \
  X(preferenceCreate, "cublasLtMatmulPreferenceCreate",                        \
    (MatmulPreference * preference))                                           \
  X(preferenceDestroy, "cublasLtMatmulPreferenceDestroy",                      \
    (MatmulPreference preference))                                             \
  X(preferenceSet, "cublasLtMatmulPreferenceSetAttribute",                     \
    (MatmulPreference preference, int attribute, const void *value,            \
     std::size_t bytes))                                                       \
  X(heuristic, "cublasLtMatmulAlgoGetHeuristic",                               \
    (BlasHandle handle, MatmulDesc desc, MatrixLayout a, MatrixLayout b,       \
     MatrixLayout c, MatrixLayout d, MatmulPreference preference, int wanted,  \
     MatmulHeuristic *results, int *found))                                    \
  X(matmul, "cublasLtMatmul",                                                  \
    (BlasHandle handle, MatmulDesc desc, const void *alpha, const void *a,     \
     MatrixLayout aLayout, const void *b, MatrixLayout bLayout,                \
     const void *beta, const void *c, MatrixLayout cLayout, void *d,           \
     MatrixLayout dLayout, const MatmulAlgorithm *algorithm, void *workspace,  \
     std::size_t workspaceBytes, Stream stream))

struct BlasLt {
#define LAYLINE_MEMBER(member, symbol, parameters)                             \
  BlasStatus(*member) parameters = nullptr;
  LAYLINE_BLASLT(LAYLINE_MEMBER)
#undef LAYLINE_MEMBER
  const char *(*statusName)(BlasStatus) = nullptr;
};

/// libcublasLt.so.13 or .12, or what a test put in its place. Throws Error
/// (LAYLINE_REFUSED_FEATURE) that names what is missing.
const BlasLt &blasLt();
void replaceBlasLt(const BlasLt *blasLt);
/// From a library of any name, for tests.
BlasLt openBlasLt(const char *library);

/// Throws Error (LAYLINE_RUN_FAILURE) if `status` is not success.
void checkBlas(BlasStatus status, const char *call, const std::string &what);

} // namespace layline::runtime::cuda

#endif // LAYLINE_RUNTIME_DEVICES_CUDA_BLASLT_H
