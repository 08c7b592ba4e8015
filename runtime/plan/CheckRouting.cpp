#include "plan/Check.h"

#include "plan/StepContract.h"

#include <map>
#include <string_view>

namespace layline::runtime {
namespace {

/// Follows rows that were dispatched to the ranks of their experts: of these a
/// rank has only some, so who reads them is checked, not only as what.
class RoutingCheck {
public:
  RoutingCheck(const Plan &plan, const Variant &variant)
      : plan_(plan), variant_(variant), writers_(variant.buffers.size()) {}

  void visit(const Step &step) {
    StepContract contract{plan_, variant_, step};
    for (std::size_t a = 0; a < step.args.size(); ++a)
      for (const Operand &operand : step.args[a])
        mayTake(contract, step.info().args[a].name, operand);
    if (step.kind == StepKind::Experts && isRouted(step.arg("input")))
      experts(contract);
    if (step.kind == StepKind::Combine)
      combine(contract);
    for (std::size_t a = 0; a < step.args.size(); ++a)
      for (const Operand &operand : step.args[a])
        if (step.info().args[a].isOutput && operand.of == Operand::Of::Buffer)
          writers_[operand.index] = {&step, ++writes_};
  }

private:
  struct Write {
    const Step *step = nullptr;
    int number = 0; ///< tells one value of a buffer from the next
  };

  bool isRouted(const Operand &operand) const {
    return operand.of == Operand::Of::Buffer && !operand.layout.dims.empty() &&
           operand.layout.dims[0].isSplit() &&
           plan_.ranges[operand.layout.dims[0].range].isRouted();
  }

  void mayTake(const StepContract &c, std::string_view argument,
               const Operand &operand) const {
    if (!isRouted(operand))
      return;
    StepKind kind = c.step.kind;
    bool mayTake =
        (kind == StepKind::Dispatch && argument.substr(0, 6) == "output") ||
        (kind == StepKind::Experts) ||
        (kind == StepKind::Combine && argument == "input");
    if (!mayTake)
      c.fail("has '", c.id(operand), "' as '", argument,
             "', rows of which a rank has only those of its experts; 'experts' "
             "and 'combine' take such rows");
  }

  const Write &writer(const Operand &operand) const {
    return writers_[operand.index];
  }

  /// The dispatch that wrote all that an experts step reads of its rows.
  const Step *dispatchOf(const Step &experts) const {
    const Write &input = writer(experts.arg("input"));
    constexpr const char *from[][2] = {{"input", "output"},
                                       {"ids", "output_ids"},
                                       {"weights", "output_weights"}};
    for (auto [read, written] : from) {
      const Operand &operand = experts.arg(read);
      const Step *by = writer(operand).step;
      if (!by || by != input.step || by->kind != StepKind::Dispatch ||
          by->arg(written).index != operand.index)
        return nullptr;
    }
    return input.step;
  }

  void experts(const StepContract &c) {
    const Step *dispatch = dispatchOf(c.step);
    if (!dispatch)
      c.fail("takes '", c.id(c.arg("input")), "', '", c.id(c.arg("ids")),
             "' and '", c.id(c.arg("weights")),
             "'; rows, ids and weights of one dispatch are expected");
    sources_[&c.step] = {dispatch, writer(dispatch->arg("ids")).number};
  }

  void combine(const StepContract &c) const {
    const Step *by = writer(c.arg("input")).step;
    auto source = sources_.find(by);
    if (source == sources_.end())
      c.fail("takes '", c.id(c.arg("input")),
             "'; what experts made of dispatched rows is expected");
    // The same buffer may hold other ids by now.
    const Operand &ids = source->second.first->arg("ids");
    if (ids.index != c.arg("ids").index ||
        writer(ids).number != source->second.second)
      c.fail("sends rows back by '", c.id(c.arg("ids")),
             "'; they were dispatched by '", c.id(ids), "' in step '",
             source->second.first->id, "'");
  }

  const Plan &plan_;
  const Variant &variant_;
  std::vector<Write> writers_; ///< by buffer
  int writes_ = 0;
  /// By experts step: its dispatch, and which value of the ids that went by.
  std::map<const Step *, std::pair<const Step *, int>> sources_;
};

} // namespace

void checkRouting(const Plan &plan, Findings &findings) {
  for (const Variant &variant : plan.variants) {
    RoutingCheck check(plan, variant);
    for (const Step &step : variant.steps) {
      for (const Step &inner : step.body)
        findings.of([&] { check.visit(inner); });
      if (step.body.empty())
        findings.of([&] { check.visit(step); });
    }
  }
}

} // namespace layline::runtime
