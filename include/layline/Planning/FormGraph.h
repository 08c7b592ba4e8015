//===- FormGraph.h - which form every value takes, at least cost -*- C++
//-*-===//
//
// The one question of planning: in which forms is each value there?
//
//   owed   every rank holds an addend of it, all rows
//   rows   every rank holds its own rows of it
//   whole  every rank holds all of it
//
// Ops run in one of their modes; a mode says which form it takes of every
// operand and gives of every result. A form that is not there is converted to,
// once per value whatever the number of its readers:
//
//   owed  -> rows    reduce_scatter (or what an all_reduce has left)
//   owed  -> whole   all_reduce, or reduce_scatter and all_gather
//   rows  -> whole   all_gather
//   whole -> rows    nothing: a rank takes its own rows
//
// A *piece* is a kernel that does several of these things - conversions and
// ops - at a price of its own. Pieces reward choices that are made together, so
// the problem is not submodular and no minimum cut solves it; but few values
// are live at once and layers repeat, so an exact dynamic program over the
// frontier of the program order is small. `test/lib/Forms` compares it with
// exhaustive search.
//
// Plain C++: nothing here knows MLIR or where costs come from.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_PLANNING_FORMGRAPH_H
#define LAYLINE_PLANNING_FORMGRAPH_H

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

namespace layline {

enum class Form : uint8_t { Owed, Rows, Whole };
enum class Conversion : uint8_t { ReduceScatter, AllReduce, AllGather };
inline constexpr unsigned kConversions = 3;

/// The cost of what cannot be had.
inline constexpr double kNever = std::numeric_limits<double>::infinity();

struct FormGraph {
  struct Mode {
    std::vector<Form> operands; ///< as `Op::operands`
    std::vector<Form> results;  ///< as `Op::results`
  };
  struct Op {
    std::vector<int> operands, results; ///< values; an operand may repeat
    std::vector<Mode> modes;            ///< at least one
    /// Ops with equal numbers have equal costs, mode by mode.
    int costClass = 0;
  };
  struct Value {
    int producer = -1;
    std::vector<int> readers; ///< ops, ascending, each once
    /// Values with equal numbers have equal costs of conversion.
    int costClass = 0;
  };
  /// An op runs in a mode, or a value is converted.
  struct Event {
    bool isConversion = false;
    int subject = 0; ///< op or value
    int choice = 0;  ///< mode or Conversion
    friend bool operator==(const Event &a, const Event &b) {
      return a.isConversion == b.isConversion && a.subject == b.subject &&
             a.choice == b.choice;
    }
  };
  static Event run(int op, int mode) { return {false, op, mode}; }
  static Event convert(int value, Conversion conversion) {
    return {true, value, static_cast<int>(conversion)};
  }
  /// At most 32 events and needs.
  struct Piece {
    /// The op that the piece is listed with; pieces are sorted by it.
    int anchor = 0;
    std::vector<Event> events;
    /// What must happen besides, at its own price: ops that would else have to
    /// wait for the piece.
    std::vector<Event> needs;
    int costClass = 0;
  };

  std::vector<Op> ops; ///< in program order: a producer before its readers
  std::vector<Value> values;
  std::vector<Piece> pieces;
  /// The first op of every stretch that may repeat (a layer), ascending; the
  /// first is 0. Equal stretches are solved once.
  std::vector<int> segments;

  int addValue(int costClass);
  /// Registers the op as producer and reader. Returns its number.
  int addOp(Op op);
};

/// What everything costs at one token count, in microseconds. `kNever` forbids.
struct FormCosts {
  std::vector<std::vector<double>> modes;                    ///< [op][mode]
  std::vector<std::array<double, kConversions>> conversions; ///< [value]
  std::vector<double> pieces;                                ///< [piece]
};

/// A complete set of choices.
struct FormChoice {
  double us = kNever;               ///< kNever: there is none
  std::vector<int> modes;           ///< [op]
  std::vector<uint8_t> conversions; ///< [value], a bit per Conversion
  std::vector<int> pieces;          ///< that run, ascending

  bool converts(int value, Conversion conversion) const {
    return conversions[value] >> static_cast<unsigned>(conversion) & 1;
  }
  bool does(const FormGraph::Event &event) const {
    return event.isConversion
               ? converts(event.subject, static_cast<Conversion>(event.choice))
               : modes[event.subject] == event.choice;
  }
  bool isSameAs(const FormChoice &other) const {
    return modes == other.modes && conversions == other.conversions &&
           pieces == other.pieces;
  }
};

/// The price of a choice: every event that no piece covers, and the pieces.
double getCost(const FormGraph &graph, const FormCosts &costs,
               const FormChoice &choice);

/// Whether a choice is complete and consistent: every form that a mode takes is
/// there, nothing is converted that no op takes, pieces do not overlap and do
/// only what is done.
bool isValid(const FormGraph &graph, const FormChoice &choice);

/// Solves one graph for many token counts. Equal stretches of the graph are
/// found once.
class FormSolver {
public:
  /// Keeps a reference to the graph. Ops with different labels (and what they
  /// give) are not taken for equal to others, so their costs may differ; empty:
  /// all alike.
  explicit FormSolver(const FormGraph &graph,
                      const std::vector<int> &labels = {});

  /// The same graph under labels.
  FormSolver withLabels(const std::vector<int> &labels) const;

  /// A choice of least cost; of several, always the same one.
  FormChoice solve(const FormCosts &costs) const;

  /// More values are live at once than a state can keep: nothing is solved.
  bool isGraphTooWide() const { return isTooWide; }
  /// Stretches that differ: what a solution costs in work.
  int countClasses() const { return classes; }

private:
  struct Facts;

  FormSolver(const FormGraph &graph, std::shared_ptr<const Facts> facts,
             const std::vector<int> &labels);

  const FormGraph &graph;
  std::shared_ptr<const Facts> facts; ///< do not depend on costs
  std::vector<int> classOf;           ///< of each segment
  int classes = 0;
  bool isTooWide = false;
};

} // namespace layline

#endif // LAYLINE_PLANNING_FORMGRAPH_H
