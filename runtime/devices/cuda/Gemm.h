// Matrix products of one card through cuBLASLt. The algorithm of a shape is
// asked for once.
#ifndef LAYLINE_RUNTIME_DEVICES_CUDA_GEMM_H
#define LAYLINE_RUNTIME_DEVICES_CUDA_GEMM_H

#include "devices/cuda/BlasLt.h"
#include "devices/cuda/Card.h"

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>

namespace layline::runtime::cuda {

/// output[rows, out] = input[rows, in] weight[out, in]^T, all dense and
/// row-major; sums in float32.
struct Product {
  std::int64_t rows = 0, in = 0, out = 0;
  BlasType inputType = BlasType::F32; ///< of the weight too
  BlasType outputType = BlasType::F32;

  bool operator<(const Product &other) const {
    return std::tie(rows, in, out, inputType, outputType) <
           std::tie(other.rows, other.in, other.out, other.inputType,
                    other.outputType);
  }
};

class Gemm {
public:
  /// Opens cuBLASLt. Throws Error.
  explicit Gemm(const Card &card);
  ~Gemm();
  Gemm(const Gemm &) = delete;
  Gemm &operator=(const Gemm &) = delete;

  /// Chooses the algorithm, so that run() allocates nothing: before a capture.
  /// Throws Error, e.g. where cuBLASLt has none.
  void plan(const Product &product);
  /// Products of one stream run one after another, and share the workspace;
  /// `workspace` tells streams apart. Zero rows, columns or features are legal.
  void run(const Product &product, Address input, Address weight,
           Address output, Stream stream, std::size_t workspace);
  /// Makes room for workspaces [0, count).
  void reserve(std::size_t count);

  std::size_t planned() const { return plans_.size(); }

private:
  struct Planned {
    MatmulDesc desc = nullptr;
    MatrixLayout weight = nullptr, input = nullptr, output = nullptr;
    MatmulAlgorithm algorithm;
    std::size_t workspaceBytes = 0;
    Cleanup cleanup;
  };
  const Planned &planned(const Product &product);

  const Card &card_;
  BlasHandle handle_ = nullptr;
  std::map<Product, std::unique_ptr<Planned>> plans_;
  std::vector<DeviceMemory> workspaces_;
};

} // namespace layline::runtime::cuda

#endif // LAYLINE_RUNTIME_DEVICES_CUDA_GEMM_H
