#include "plan/Check.h"

#include "plan/HappensBefore.h"
#include "plan/PositionSource.h"
#include "plan/StepContract.h"

#include <algorithm>
#include <set>
#include <utility>

namespace layline::runtime {
namespace {

bool hasCollective(const Step &step) {
  return step.info().isCollective ||
         std::any_of(step.body.begin(), step.body.end(),
                     [](const Step &s) { return s.info().isCollective; });
}

void checkEvents(const Plan &plan, const Variant &variant, Findings &findings) {
  std::vector<int> signaller(variant.events.size(), -1);
  for (std::size_t i = 0; i < variant.steps.size(); ++i) {
    const Step &step = variant.steps[i];
    StepContract contract{plan, variant, step};
    findings.of([&] {
      for (int event : step.waits)
        if (signaller[event] < 0)
          contract.fail("waits for event '", variant.events[event],
                        "', which no earlier step signals");
    });
    findings.of([&] {
      for (int event : step.signals) {
        if (signaller[event] >= 0)
          contract.fail("signals event '", variant.events[event],
                        "', which step '", variant.steps[signaller[event]].id,
                        "' signals already");
        signaller[event] = static_cast<int>(i);
      }
    });
  }
}

void checkAfter(const Plan &plan, const Variant &variant,
                const HappensBefore &before, Findings &findings) {
  for (std::size_t i = 0; i < variant.steps.size(); ++i) {
    const Step &step = variant.steps[i];
    findings.of([&] {
      for (int earlier : step.after) {
        StepContract contract{plan, variant, step};
        if (earlier >= static_cast<int>(i))
          contract.fail("comes after step '", variant.steps[earlier].id,
                        "', which stands later in the list");
        if (!before(earlier, static_cast<int>(i)))
          contract.fail("comes after step '", variant.steps[earlier].id,
                        "' on stream '",
                        plan.streams[variant.steps[earlier].stream],
                        "' and waits for no event that says it is done");
      }
    });
  }
}

/// A group has an instance for every setting of the axes that it is not over.
/// Their ranks must not signal one flag: a rank would take the completion of
/// another instance for that of its own.
void checkFlagKey(const Plan &plan, const Flag &flag) {
  const Group &group = plan.groups[flag.group];
  auto fail = [&](const auto &...parts) {
    invalid("flag '", flag.id, "' of group '", group.id, "': ", parts...);
  };
  auto has = [](const std::vector<int> &axes, int axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  };
  for (std::size_t i = 0; i < flag.key.size(); ++i) {
    if (has(group.axes, flag.key[i]))
      fail("its key has axis '", plan.axes[flag.key[i]].name,
           "', which the group is over; the ranks of one instance would signal "
           "different flags");
    if (i > 0 && flag.key[i] <= flag.key[i - 1])
      fail("its key is ", printAxes(flag.key, plan),
           "; every axis once, in the order of the mesh, is expected");
  }
  std::int64_t stride = 1; // from one rank to the next on the axis
  for (auto axis = static_cast<int>(plan.axes.size()); axis-- > 0;) {
    if (plan.axes[axis].size > 1 && !has(group.axes, axis) &&
        !has(flag.key, axis))
      fail("its key ", printAxes(flag.key, plan), " misses axis '",
           plan.axes[axis].name,
           "', over which the group has instances: ranks "
           "0 and ",
           stride, " are in two of them and would signal one flag");
    stride *= plan.axes[axis].size;
  }
}

/// One collective in flight per flag: it has one epoch.
void checkFlags(const Plan &plan, const Variant &variant,
                const HappensBefore &before, Findings &findings) {
  std::vector<int> lastOf(plan.flags.size(), -1);
  for (std::size_t i = 0; i < variant.steps.size(); ++i) {
    const Step &step = variant.steps[i];
    findings.of([&] {
      StepContract contract{plan, variant, step};
      if (!hasCollective(step)) {
        if (step.flag >= 0)
          contract.fail("has a flag and no collective");
        return;
      }
      if (step.flag < 0)
        contract.fail("is a collective and has no flag");
      const Flag &flag = plan.flags[step.flag];
      int group = step.kind == StepKind::Fused
                      ? plan.kernels[step.attrs.kernel].group
                      : step.attrs.group;
      if (group != flag.group)
        contract.fail("is of ",
                      group < 0 ? "no group"
                                : "group '" + plan.groups[group].id + "'",
                      ", its flag '", flag.id, "' of group '",
                      plan.groups[flag.group].id, "'");
      for (const Step &inner : step.body)
        if (inner.flag >= 0 && inner.flag != step.flag)
          contract.fail("has the flag '", flag.id, "', but step '", inner.id,
                        "' in its body '", plan.flags[inner.flag].id, "'");
      int &last = lastOf[step.flag];
      if (last >= 0 && !before(last, static_cast<int>(i)))
        contract.fail("may run at the same time as step '",
                      variant.steps[last].id, "', which uses the same flag '",
                      flag.id, "'");
      last = static_cast<int>(i);
    });
  }
}

/// The groups that a step's collectives are over, its body's too; of one rank
/// alone nobody is waited for.
std::set<int> groupsOf(const Plan &plan, const Step &step) {
  std::set<int> groups;
  if (step.info().isCollective && plan.groups[step.attrs.group].ranks > 1)
    groups.insert(step.attrs.group);
  for (const Step &inner : step.body)
    groups.merge(groupsOf(plan, inner));
  return groups;
}

/// "0, 1, 2, ..": the ranks that rank 0 meets in a group, itself among them.
std::string printMembers(const Plan &plan, const Group &group) {
  constexpr std::size_t kPrinted = 8;
  std::vector<std::int64_t> members;
  plan.forEachSetting(group.axes, [&](const std::vector<std::int64_t> &at) {
    std::int64_t rank = 0; // row-major
    for (std::size_t axis = 0; axis < at.size(); ++axis)
      rank = rank * plan.axes[axis].size + at[axis];
    members.push_back(rank);
  });
  std::sort(members.begin(), members.end());
  std::string text;
  for (std::size_t i = 0; i < std::min(kPrinted, members.size()); ++i)
    text += (i > 0 ? ", " : "") + std::to_string(members[i]);
  return members.size() > kPrinted ? text + ", .." : text;
}

/// Collectives that a rank waits in stand one behind the other, of whichever
/// flags and groups. Of one group the ranks meet by what a device has for it.
/// Of two, which share ranks since each rank is in an instance of both, one
/// rank may begin the first and another the second, and each then holds the
/// processors that the other's partner waits for.
void checkCollectives(const Plan &plan, const Variant &variant,
                      const HappensBefore &before, Findings &findings) {
  int last = -1;
  for (std::size_t i = 0; i < variant.steps.size(); ++i) {
    const Step &step = variant.steps[i];
    const std::set<int> groups = groupsOf(plan, step);
    if (groups.empty())
      continue;
    findings.of([&] {
      // Neighbours in the list: whoever is behind the last is behind all.
      int previous = std::exchange(last, static_cast<int>(i));
      if (previous < 0 || before(previous, static_cast<int>(i)))
        return;
      const Step &other = variant.steps[previous];
      // Of one flag: checkFlags has said so.
      if (step.flag == other.flag)
        return;
      const std::set<int> others = groupsOf(plan, other);
      auto shared = std::find_if(groups.begin(), groups.end(), [&](int group) {
        return others.count(group) != 0;
      });
      const Group &ours = plan.groups[shared == groups.end() ? *groups.begin()
                                                             : *shared],
                  &theirs = plan.groups[*others.begin()];
      std::string why =
          concat("a collective of the same group '", ours.id, "'");
      if (shared == groups.end())
        why = concat("a collective of group '", theirs.id,
                     "', while this is of '", ours.id, "': rank 0 meets ranks ",
                     printMembers(plan, theirs), " there and ranks ",
                     printMembers(plan, ours),
                     " here, and ranks may begin the two in different orders");
      StepContract{plan, variant, step}.fail(
          "is on stream '", plan.streams[step.stream],
          "' and may run at the same time as step '", other.id, "' on stream '",
          plan.streams[other.stream], "', ", why,
          "; an event between the two is expected");
    });
  }
}

/// Every cache gets this step's rows once, before they are read.
void checkCaches(const Plan &plan, const Variant &variant,
                 const HappensBefore &before, Findings &findings) {
  std::vector<int> appended(plan.caches.size(), -1);
  auto visit = [&](const Step &step, int topLevel) {
    StepContract contract{plan, variant, step};
    if (step.kind == StepKind::Fused)
      return;
    for (std::size_t a = 0; a < step.args.size(); ++a)
      for (const Operand &operand : step.args[a]) {
        if (operand.of != Operand::Of::Cache)
          continue;
        const std::string &id = plan.caches[operand.index].id;
        int &at = appended[operand.index];
        if (step.info().args[a].isOutput) {
          if (at >= 0)
            contract.fail("appends to cache '", id, "', as step '",
                          variant.steps[at].id, "' did");
          at = topLevel;
        } else if (at < 0) {
          contract.fail("reads cache '", id,
                        "' before this step's rows are appended to it");
        } else if (at != topLevel && !before(at, topLevel)) {
          contract.fail("reads cache '", id, "' and does not wait for step '",
                        variant.steps[at].id, "', which appends to it");
        }
      }
  };
  for (std::size_t i = 0; i < variant.steps.size(); ++i) {
    findings.of([&] { visit(variant.steps[i], static_cast<int>(i)); });
    for (const Step &step : variant.steps[i].body)
      findings.of([&] { visit(step, static_cast<int>(i)); });
  }
  for (std::size_t i = 0; i < plan.caches.size(); ++i)
    if (appended[i] < 0)
      findings.of([&] {
        invalid("variant '", variant.id, "' never appends to cache '",
                plan.caches[i].id, "': the next step would miss rows");
      });
}

/// A table with `long` numbers is chosen by the step's largest position, so the
/// positions must be known before the step runs.
void checkPositions(const Plan &plan, const Variant &variant,
                    Findings &findings) {
  std::vector<int> source = inputOfBuffers(variant);
  auto visit = [&](const Step &step) {
    if (step.kind != StepKind::Rope ||
        !plan.tables[step.arg("table").index].longNumbers)
      return;
    if (source[step.arg("positions").index] < 0)
      StepContract{plan, variant, step}.fail(
          "uses a table with 'long' numbers and positions that are not an "
          "input's");
  };
  for (const Step &step : variant.steps) {
    findings.of([&] { visit(step); });
    for (const Step &inner : step.body)
      findings.of([&] { visit(inner); });
  }
}

} // namespace

void checkFlagKeys(const Plan &plan, Findings &findings) {
  // Plans of 1.0 have no keys.
  if (plan.minorVersion < 1)
    return;
  for (const Flag &flag : plan.flags)
    findings.of([&] { checkFlagKey(plan, flag); });
}

void checkContracts(const Plan &plan, Findings &findings) {
  for (const Variant &variant : plan.variants)
    for (const Step &step : variant.steps) {
      for (const Step &inner : step.body)
        findings.of([&] {
          inner.info().check(StepContract{plan, variant, inner});
        });
      findings.of([&] {
        step.info().check(StepContract{plan, variant, step});
      });
    }
}

void checkOrder(const Plan &plan, Findings &findings) {
  for (const Variant &variant : plan.variants) {
    HappensBefore before(variant, plan.streams.size());
    checkEvents(plan, variant, findings);
    checkAfter(plan, variant, before, findings);
    checkFlags(plan, variant, before, findings);
    checkCollectives(plan, variant, before, findings);
    checkCaches(plan, variant, before, findings);
    checkPositions(plan, variant, findings);
  }
}

} // namespace layline::runtime
