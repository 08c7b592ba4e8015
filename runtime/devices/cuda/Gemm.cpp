#include "devices/cuda/Gemm.h"

#include "plan/Error.h"

namespace layline::runtime::cuda {
namespace {

/// What cuBLASLt may use of a stream's workspace: the size that NVIDIA
/// recommends for Hopper (cuBLAS documentation, "cublasSetWorkspace").
constexpr std::size_t kWorkspaceBytes = std::size_t(32) << 20;

std::string describe(const Product &product, const Card &card) {
  return concat("product of [", product.rows, ", ", product.in, "] with [",
                product.out, ", ", product.in, "] transposed on ", card.name());
}

bool isEmpty(const Product &product) {
  return product.rows == 0 || product.out == 0;
}

} // namespace

Gemm::Gemm(const Card &card) : card_(card) {
  card.use();
  checkBlas(blasLt().create(&handle_), "cublasLtCreate", card.name());
}

Gemm::~Gemm() {
  plans_.clear();
  blasLt().destroy(handle_);
}

void Gemm::reserve(std::size_t count) {
  while (workspaces_.size() < count)
    workspaces_.emplace_back(card_, kWorkspaceBytes, "workspace of products");
}

void Gemm::plan(const Product &product) {
  if (!isEmpty(product) && product.in > 0)
    planned(product);
}

const Gemm::Planned &Gemm::planned(const Product &product) {
  auto found = plans_.find(product);
  if (found != plans_.end())
    return *found->second;
  std::string what = describe(product, card_);
  const BlasLt &blas = blasLt();
  auto plan = std::make_unique<Planned>();
  checkBlas(blas.descCreate(&plan->desc, kBlasCompute32F, BlasType::F32),
            "cublasLtMatmulDescCreate", what);
  plan->cleanup.add([desc = plan->desc] { blasLt().descDestroy(desc); });
  int transpose = kBlasTranspose;
  checkBlas(
      blas.descSet(plan->desc, kMatmulTransA, &transpose, sizeof transpose),
      "cublasLtMatmulDescSetAttribute", what);
  // cuBLASLt counts columns first: a row-major [r, c] is its c x r. So the
  // weight stands in front, transposed.
  auto layout = [&](MatrixLayout &of, BlasType type, std::int64_t rows,
                    std::int64_t columns) {
    checkBlas(blas.layoutCreate(&of, type, static_cast<std::uint64_t>(columns),
                                static_cast<std::uint64_t>(rows), columns),
              "cublasLtMatrixLayoutCreate", what);
    plan->cleanup.add([created = of] { blasLt().layoutDestroy(created); });
  };
  layout(plan->weight, product.inputType, product.out, product.in);
  layout(plan->input, product.inputType, product.rows, product.in);
  layout(plan->output, product.outputType, product.rows, product.out);
  MatmulPreference preference = nullptr;
  checkBlas(blas.preferenceCreate(&preference),
            "cublasLtMatmulPreferenceCreate", what);
  Cleanup temporary;
  temporary.add([preference] { blasLt().preferenceDestroy(preference); });
  std::size_t most = kWorkspaceBytes;
  checkBlas(
      blas.preferenceSet(preference, kPreferenceWorkspace, &most, sizeof most),
      "cublasLtMatmulPreferenceSetAttribute", what);
  MatmulHeuristic best;
  int algorithms = 0;
  checkBlas(blas.heuristic(handle_, plan->desc, plan->weight, plan->input,
                           plan->output, plan->output, preference, 1, &best,
                           &algorithms),
            "cublasLtMatmulAlgoGetHeuristic", what);
  if (algorithms == 0)
    fail(LAYLINE_RUN_FAILURE, what, ": cuBLASLt has no algorithm");
  checkBlas(best.state, "cublasLtMatmulAlgoGetHeuristic", what);
  plan->algorithm = best.algorithm;
  plan->workspaceBytes = best.workspaceBytes;
  return *plans_.emplace(product, std::move(plan)).first->second;
}

void Gemm::run(const Product &product, Address input, Address weight,
               Address output, Stream stream, std::size_t workspace) {
  if (isEmpty(product))
    return;
  card_.use();
  // A product over no features is zero.
  if (product.in == 0) {
    std::size_t bytes = product.outputType == BlasType::F32 ? 4 : 2;
    check(driver().setBytes(output, 0,
                            static_cast<std::size_t>(product.rows) *
                                static_cast<std::size_t>(product.out) * bytes,
                            stream),
          "cuMemsetD8Async", describe(product, card_));
    return;
  }
  const Planned &plan = planned(product);
  if (workspace >= workspaces_.size())
    fail(LAYLINE_INTERNAL, "no workspace ", workspace, " was reserved");
  const float one = 1, zero = 0;
  auto pointer = [](Address address) {
    return reinterpret_cast<void *>(address);
  };
  checkBlas(blasLt().matmul(handle_, plan.desc, &one, pointer(weight),
                            plan.weight, pointer(input), plan.input, &zero,
                            pointer(output), plan.output, pointer(output),
                            plan.output, &plan.algorithm,
                            pointer(workspaces_[workspace].address()),
                            plan.workspaceBytes, stream),
            "cublasLtMatmul", describe(product, card_));
}

} // namespace layline::runtime::cuda
