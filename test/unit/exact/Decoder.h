//===- Decoder.h - a decoder stack, dense or on a mesh ----------*- C++ -*-===//
#ifndef LAYLINE_TEST_UNIT_EXACT_DECODER_H
#define LAYLINE_TEST_UNIT_EXACT_DECODER_H

#include "layline/Exact/Program.h"
#include <map>
#include <string>

namespace layline::exact::test {

struct Model {
  int64_t layers = 2;
  int64_t hidden = 48;
  int64_t heads = 8;
  int64_t kvHeads = 4;
  int64_t width = 16;
  int64_t features = 40; ///< of the MLP, or of one expert
  int64_t vocabulary = 50;
  int64_t experts = 0; ///< 0: a dense MLP
  int64_t topK = 2;
  int64_t rotary = 12; ///< features of a head that rope rotates
  std::optional<int64_t> window;
  bool isQuantized = false; ///< what the attention block reads
  int64_t quantGroups = 1;  ///< of its features, with a scale each
};

/// Who holds what. Without ranks: one device.
struct Mesh {
  int64_t tp = 1;
  int64_t cp = 1;
  Partition tokens = Partition::zigzag(); ///< of the rows, over cp
  /// reduce-scatter, add, norm, all-gather over tp; else all-reduce.
  bool isByRows = false;
  bool leavesRowsSplit = false; ///< of the logits
  bool hasAxes() const { return tp * cp > 1; }
};

/// Builds a decoder with attention of grouped queries, norms of queries and
/// keys, and a gated MLP or experts.
class Decoder {
public:
  Decoder(const Model &model, const Mesh &mesh, std::string fault = "")
      : model(model), mesh(mesh), fault(std::move(fault)) {}
  Program build();
  /// Whether the place that the fault changes was reached.
  bool isPlanted() const { return planted; }

private:
  using Dims = std::vector<DimLayout>;

  static Expr tokens() { return Expr::symbol("tokens"); }
  static Expr context() { return Expr::symbol("past") + tokens(); }

  bool is(const std::string &name) {
    planted |= fault == name;
    return fault == name;
  }
  /// A value that is the result of the op added next.
  ValueId value(std::vector<Expr> shape, Dims dims,
                std::vector<unsigned> owes = {});
  ValueId integers(std::vector<Expr> shape, Dims dims);
  ValueId op(OpKind kind, std::vector<ValueId> operands, ValueId result,
             const std::string &place, Attributes attrs = {});
  ValueId weight(const std::string &key, std::vector<int64_t> shape, Dims dims,
                 std::optional<Segment> rows = std::nullopt,
                 bool isStacked = false);
  ValueId like(ValueId other, std::vector<unsigned> owes = {});
  ValueId relabel(ValueId from, ValueId to);

  DimLayout split(unsigned axis, Partition partition, int64_t unit = 1) const;
  /// Heads or features of the next rank over tp.
  DimLayout neighbour(int64_t unit = 1) const;
  DimLayout rows() const;       ///< of a token, over cp
  DimLayout rowsOfNorm() const; ///< over cp, then tp
  DimLayout tensorParallel(int64_t unit = 1) const {
    return split(kTp, Partition::block(), unit);
  }
  DimLayout kvHeads(int64_t unit = 1) const {
    return split(kTp, Partition::readers(model.heads), unit);
  }

  void inputs();
  ValueId embed();
  ValueId reduce(ValueId partial, const std::string &place);
  ValueId norm(ValueId x, const std::string &place);
  ValueId normPadded(ValueId x, ValueId w, const std::string &place,
                     Attributes attrs);
  ValueId gatherRows(ValueId x, const std::string &place);
  ValueId quantize(ValueId x, const std::string &place);
  ValueId residual(ValueId x, ValueId partial, const std::string &place);
  ValueId headsOf(ValueId x, const std::string &name, bool isQuery);
  ValueId cached(ValueId x, const std::string &plane);
  ValueId attention(ValueId x);
  ValueId output(ValueId a);
  ValueId mlp(ValueId x);
  ValueId moe(ValueId x);
  ValueId logits(ValueId x);

  static constexpr unsigned kTp = 0, kCp = 1;
  Model model;
  Mesh mesh;
  std::string fault;
  bool planted = false;
  Program program;
  int64_t layer = 0;
  std::string prefix; ///< of places in the layer
  ValueId ids = 0, positions = 0, keyPositions = 0;
  ValueId allIds = 0, allPositions = 0;
};

inline Program buildReference(const Model &model) {
  return Decoder(model, {}).build();
}

} // namespace layline::exact::test

#endif // LAYLINE_TEST_UNIT_EXACT_DECODER_H
