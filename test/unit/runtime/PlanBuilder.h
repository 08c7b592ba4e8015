// Writes launch plans by hand: what a compiler would emit, for tests that must
// not depend on one. Buffers get real lifetimes and share memory.
#ifndef LAYLINE_TEST_UNIT_RUNTIME_PLANBUILDER_H
#define LAYLINE_TEST_UNIT_RUNTIME_PLANBUILDER_H

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace layline::test {

using Json = nlohmann::ordered_json;

class PlanBuilder {
public:
  explicit PlanBuilder(std::int64_t ranks, std::int64_t maxTokens = 64,
                       const std::string &dtype = "f32");

  /// A second axis "cp" behind "tp", with group and flag: a plan of format 1.1.
  void addContextAxis(std::int64_t ranks);

  /// Adds to what the plan requires of its reader.
  void require(const std::string &feature) {
    plan_["requires"].push_back(feature);
  }

  std::int64_t ranks() const { return ranks_; }

  // Layouts of one dimension.
  static Json whole() { return nullptr; }
  /// A balanced block of `extent` parts ("tokens" or a number), each of `unit`.
  Json block(const Json &extent, std::int64_t unit = 1,
             const std::string &axis = "tp");
  /// "zigzag" or "cyclic" over cp.
  Json zigzag(const Json &extent, std::int64_t unit = 1);
  Json cyclic(const Json &extent, std::int64_t interleave,
              std::int64_t unit = 1);
  /// What `outer` gives to a rank, in balanced blocks over tp.
  Json within(const Json &outer);
  /// The KV heads that the rank's block of query heads reads.
  Json readers(std::int64_t kvHeads, std::int64_t heads, std::int64_t unit = 1);
  /// Of those the ones that no lower rank's block reads.
  Json firstReaders(std::int64_t kvHeads, std::int64_t heads,
                    std::int64_t unit = 1);
  /// Rows that were dispatched over tp to the ranks of their experts.
  Json routed(const Json &extent, std::int64_t experts);

  std::string weight(const std::string &key,
                     const std::vector<std::int64_t> &shape, const Json &dims,
                     const Json &extra = Json::object());
  void cache(const std::string &id, std::int64_t layer,
             const std::string &plane,
             const std::vector<std::int64_t> &rowShape, const Json &dims);
  void table(const std::string &id, const std::vector<double> &invFreq,
             const Json &extra = Json::object());
  std::string kernel(const std::vector<std::string> &ops, bool hasGroup);

  /// Begins a variant; the one before is finished.
  void variant(const std::string &id, std::int64_t min, std::int64_t max);
  /// Buffers of the inputs "input_ids" and "positions".
  std::string input(const std::string &id, const Json &dim = nullptr);
  std::string buffer(const Json &shape, const Json &dims, bool owes = false,
                     const std::string &dtype = "",
                     const std::string &kind = "activation");
  /// A buffer of another type than the plan's.
  std::string typed(const std::string &dtype, const Json &shape,
                    const Json &dims) {
    return buffer(shape, dims, false, dtype);
  }
  std::string step(const std::string &kind, const Json &args,
                   const Json &attrs = Json::object(),
                   const std::vector<std::string> &names = {});
  /// A fused step around steps made by bodyStep().
  std::string fused(const Json &inputs, const Json &outputs,
                    const std::vector<Json> &body);
  Json bodyStep(const std::string &kind, const Json &args,
                const Json &attrs = Json::object(),
                const std::vector<std::string> &names = {});
  /// Makes the buffer an output.
  void output(const std::string &id, const std::string &buffer);

  /// The whole plan: lifetimes, memory and dependences filled in.
  Json finish();

private:
  bool hasRange(const std::string &id) const;
  std::int64_t axisSize(const std::string &axis) const;
  std::int64_t largestPart(const Json &range, std::int64_t tokens) const;
  std::int64_t localElements(const Json &shape, const Json &dims,
                             std::int64_t tokens) const;
  void finishVariant();
  void findLives(Json &variant,
                 std::map<std::string, std::pair<int, int>> &lives);
  void placeBuffers(Json &variant,
                    const std::map<std::string, std::pair<int, int>> &lives);
  bool isCollective(const std::string &kind) const;

  std::int64_t ranks_;
  std::string dtype_;
  Json plan_;
  Json variant_;
  int nextBuffer_ = 0;
  int nextStep_ = 0;
};

/// Buffers that an argument list reads or writes.
void forEachBuffer(
    const Json &step,
    const std::function<void(const std::string &id, bool isWrite)> &visit);

} // namespace layline::test

#endif // LAYLINE_TEST_UNIT_RUNTIME_PLANBUILDER_H
