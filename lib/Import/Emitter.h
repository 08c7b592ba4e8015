//===- Emitter.h - a model's facts as decoder IR, shared parts --*- C++ -*-===//
//
// One class, a file for each part of the model:
//   EmitDecoder.cpp    the program: embedding, final norm, logits
//   EmitBlock.cpp      a layer: norms, branches and residual (BlockStructure)
//   EmitAttention.cpp  q, k, v to o_proj
//   EmitMlp.cpp        the dense MLP
//   EmitLatentAttention.cpp  the same of latent attention, and its indexer
//   EmitMoe.cpp        router and experts
//   EmitWeights.cpp    weights, products with them, norms
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_LIB_IMPORT_EMITTER_H
#define LAYLINE_LIB_IMPORT_EMITTER_H

#include "dialects/Decoder/Decoder.h"
#include "layline/Import/EmitDecoder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Twine.h"

namespace layline {

class Emitter {
public:
  Emitter(const DecoderConfig &config, mlir::MLIRContext &context);

  mlir::OwningOpRef<mlir::ModuleOp> emit(const ProgramSource &source);

private:
  using Value = mlir::Value;
  using StringRef = llvm::StringRef;

  /// What a branch adds to the residual: a product that is summed across ranks,
  /// and the bias that is added once, after the sum.
  struct Branch {
    Value product;
    std::optional<Weight> bias; ///< one that the layer has
    StringRef name;             ///< of the result, for comparison
    /// Of a bias of the experts: those of each row, and their weights.
    Value expertIds = {}, expertWeights = {};
  };

  /// Locations are the places of the model: "layer.3.q_proj".
  mlir::Location at(const llvm::Twine &name);
  /// [tokens, width...], of the model's element type unless another is given.
  mlir::RankedTensorType rows(llvm::ArrayRef<int64_t> width,
                              mlir::Type type = {});
  /// Names the results of an op for comparison with a reference run.
  void record(mlir::Operation *op, llvm::ArrayRef<StringRef> names);
  Value recorded(Value value, StringRef name) {
    record(value.getDefiningOp(), name);
    return value;
  }

  // EmitDecoder.cpp
  mlir::func::FuncOp emitFunction();
  Value embed(Value ids);
  Value logits(Value x);

  // EmitBlock.cpp
  /// One layer: from the residual before it to the one behind it.
  Value block(Value residual);
  Value sequentialBlock(Value residual);
  Value parallelBlock(Value residual);
  /// The branch with its bias, recorded.
  Value finish(const Branch &branch);
  Value addBias(Value x, const Branch &branch);
  Value addToResidual(Value residual, Value branch, StringRef name);
  Branch mlp(Value x);

  // EmitAttention.cpp
  Branch attention(Value x);
  /// [tokens, heads * headDim] as heads; `weight` says which projection's.
  Value heads(Value flat, Weight weight);
  Value headNorm(Value x, Weight weight);
  void fullWidthNorms(Value &q, Value &k);
  Value rope(Value x, StringRef name);

  // EmitLatentAttention.cpp
  Branch latentAttention(Value x);
  /// The rows that each row attends to; `latent` is that of its query.
  Value indexer(Value x, Value latent);
  /// One row rotated: [tokens, width].
  Value ropeRow(Value x, RopeStyle style, StringRef name);
  Value sliceColumns(Value x, int64_t begin, int64_t size, StringRef name);
  Value cacheRows(Value x, decoder::Plane plane);

  // EmitMlp.cpp
  Branch denseMlp(Value x);
  Value gatedMlp(Value x, Weight gate, std::optional<Weight> gateBias,
                 Weight up, std::optional<Weight> upBias, Weight down,
                 StringRef name);

  // EmitMoe.cpp
  Branch experts(Value x);
  decoder::RouterOp router(Value x);

  // EmitWeights.cpp
  /// The rows as products read them: those of a narrow format, where the
  /// config asks for it. One value for all readers of `x`; `name` is that of
  /// the payload, for comparison, and NAME_scales of its scales.
  Value quantized(Value x, StringRef name);
  /// Whether the layer at hand, or the model, has the weight.
  bool has(Weight weight) const { return config.has(weight, layer); }
  Value weight(Weight weight);
  Value norm(Value x, Weight weight, std::optional<Weight> bias,
             StringRef name);
  /// With another statistic and eps than the model's norms.
  Value norm(Value x, Weight weight, std::optional<Weight> bias, StringRef name,
             NormKind kind, double eps);
  decoder::LinearOp linear(Value x, Weight weight, std::optional<Weight> bias);
  /// Adds a bias, if there is that one.
  Value addBias(Value x, Weight bias);
  /// cap * tanh(x / cap), unless the cap is 0: none.
  Value softcap(Value x, double cap, const llvm::Twine &name);
  /// Multiplies, unless by 1.
  Value scale(Value x, double factor, const llvm::Twine &name);

  const DecoderConfig &config;
  mlir::OpBuilder builder;
  mlir::Type element;
  decoder::RopeTableAttr ropeTable, slidingRopeTable;
  /// The layer at hand; -1 outside of layers.
  int64_t layer = -1;
  Value positions, keyPositions;
  llvm::DenseMap<Value, Value> quantizedRows;
  /// The rows that the last indexer selected.
  Value selection;
};

/// The enum of the dialect.
decoder::Activation toDialect(Activation function);
decoder::RopeStyle toDialect(RopeStyle style);
decoder::RopeTableAttr toDialect(const RopeConfig &rope,
                                 mlir::MLIRContext *context);

} // namespace layline

#endif // LAYLINE_LIB_IMPORT_EMITTER_H
