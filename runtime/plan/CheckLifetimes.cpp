#include "plan/Check.h"

#include "plan/HappensBefore.h"
#include "plan/StepContract.h"

#include <algorithm>

namespace layline::runtime {
namespace {

struct Access {
  int step;
  bool isWrite;
};

class LifetimeCheck {
public:
  LifetimeCheck(const Plan &plan, const Variant &variant, Findings &findings)
      : plan_(plan), variant_(variant), findings_(findings),
        before_(variant, plan.streams.size()),
        accesses_(variant.buffers.size()) {}

  void run() {
    for (std::size_t i = 0; i < variant_.steps.size(); ++i)
      findings_.of([&] { step(static_cast<int>(i)); });
    summarise();
    checkOverlaps();
  }

private:
  const Buffer &buffer(int index) const { return variant_.buffers[index]; }

  void step(int at) {
    const Step &top = variant_.steps[at];
    for (const Step &inner : top.body)
      inPlace(inner);
    inPlace(top);
    for (bool isWrite : {false, true}) {
      // Of a fused step count what its body does; its lists are checked to
      // name the same buffers.
      for (const Step &inner : top.body)
        visit(inner, at, isWrite);
      if (top.body.empty())
        visit(top, at, isWrite);
    }
  }

  /// A kind that reads an operand again after it began to write its output
  /// must not have both in one place.
  void inPlace(const Step &step) {
    if (step.info().inPlace)
      return;
    for (std::size_t out = 0; out < step.args.size(); ++out)
      for (std::size_t in = 0; in < step.args.size(); ++in)
        for (const Operand &written : step.args[out])
          for (const Operand &read : step.args[in])
            if (step.info().args[out].isOutput && in != out &&
                written.of == Operand::Of::Buffer &&
                read.of == Operand::Of::Buffer && written.index == read.index)
              StepContract{plan_, variant_, step}.fail(
                  "writes '", buffer(written.index).id, "' while it reads it");
  }

  void visit(const Step &step, int at, bool isWrite) {
    StepContract contract{plan_, variant_, variant_.steps[at]};
    for (std::size_t a = 0; a < step.args.size(); ++a) {
      if (step.info().args[a].isOutput != isWrite)
        continue;
      for (const Operand &operand : step.args[a]) {
        if (operand.of != Operand::Of::Buffer ||
            buffer(operand.index).kind == Buffer::Class::Input)
          continue;
        bool isRegister = buffer(operand.index).kind == Buffer::Class::Register;
        inside(contract, operand.index, at);
        if (isWrite)
          write(contract, operand.index, at);
        else if (!isRegister && !writtenBefore(step, operand.index, at))
          read(contract, operand.index, at);
        accesses_[operand.index].push_back({at, isWrite});
      }
    }
  }

  /// Whether an earlier step of the same fused body gives the value.
  bool writtenBefore(const Step &reader, int index, int at) const {
    for (const Step &inner : variant_.steps[at].body) {
      if (&inner == &reader)
        return false;
      for (std::size_t a = 0; a < inner.args.size(); ++a)
        for (const Operand &operand : inner.args[a])
          if (inner.info().args[a].isOutput &&
              operand.of == Operand::Of::Buffer && operand.index == index)
            return true;
    }
    return false;
  }

  void inside(const StepContract &contract, int index, int at) const {
    const Buffer &used = buffer(index);
    if (at < used.firstStep || at > used.lastStep)
      contract.fail("uses '", used.id, "' outside its life from step '",
                    variant_.steps[used.firstStep].id, "' to '",
                    variant_.steps[used.lastStep].id, "'");
    if (used.kind == Buffer::Class::Register && used.firstStep != used.lastStep)
      contract.fail("uses the register '", used.id,
                    "', which lives in more than one step");
    if (used.kind == Buffer::Class::Register &&
        variant_.steps[at].kind != StepKind::Fused)
      contract.fail("uses the register '", used.id, "' outside a fused step");
  }

  void read(const StepContract &contract, int index, int at) const {
    int writer = -1;
    for (const Access &access : accesses_[index]) {
      if (!access.isWrite)
        continue;
      if (!before_(access.step, at))
        contract.fail("reads '", buffer(index).id,
                      "' and does not wait for step '",
                      variant_.steps[access.step].id, "', which writes it");
      writer = access.step;
    }
    if (writer < 0)
      contract.fail("reads '", buffer(index).id,
                    "' before any step has written it");
    const std::vector<int> &after = contract.step.after;
    if (std::find(after.begin(), after.end(), writer) == after.end())
      contract.fail("uses the result of step '", variant_.steps[writer].id,
                    "' ('", buffer(index).id,
                    "') and does not list it in 'after'");
  }

  void write(const StepContract &contract, int index, int at) const {
    for (const Access &access : accesses_[index])
      if (access.step != at && !before_(access.step, at))
        contract.fail("writes '", buffer(index).id,
                      "' and does not wait for step '",
                      variant_.steps[access.step].id, "', which uses it");
  }

  /// Per buffer: its first write and the last use on every stream.
  void summarise() {
    lastUse_.assign(variant_.buffers.size() * before_.streams(), -1);
    firstUse_.assign(variant_.buffers.size(), -1);
    for (std::size_t b = 0; b < accesses_.size(); ++b)
      for (const Access &access : accesses_[b]) {
        int &last =
            lastUse_[b * before_.streams() + before_.streamOf(access.step)];
        last = std::max(last, access.step);
        firstUse_[b] = firstUse_[b] < 0 ? access.step
                                        : std::min(firstUse_[b], access.step);
      }
  }

  int lifeEnd(const Buffer &b) const {
    // The caller reads outputs after the last step.
    return b.kind == Buffer::Class::Output
               ? static_cast<int>(variant_.steps.size()) - 1
               : b.lastStep;
  }

  void checkOverlaps() {
    std::vector<int> order;
    for (std::size_t i = 0; i < variant_.buffers.size(); ++i)
      if (variant_.buffers[i].arena >= 0 && variant_.buffers[i].bytes > 0)
        order.push_back(static_cast<int>(i));
    std::sort(order.begin(), order.end(), [&](int a, int b) {
      return std::pair(buffer(a).arena, buffer(a).offset) <
             std::pair(buffer(b).arena, buffer(b).offset);
    });
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Buffer &lower = buffer(order[i]);
      for (std::size_t j = i + 1; j < order.size(); ++j) {
        const Buffer &upper = buffer(order[j]);
        if (upper.arena != lower.arena ||
            upper.offset - lower.offset >= lower.bytes)
          break;
        bool lowerFirst = lower.firstStep <= upper.firstStep;
        sharePlace(lowerFirst ? order[i] : order[j],
                   lowerFirst ? order[j] : order[i]);
      }
    }
  }

  /// `first` begins to live before `second` in the list.
  void sharePlace(int first, int second) {
    const Buffer &a = buffer(first), &b = buffer(second);
    if (b.firstStep > lifeEnd(a) && isDone(first, second))
      return;
    findings_.of([&] {
      auto place = [&](const Buffer &x) {
        return concat(
            "'", x.id, "' (bytes [", x.offset, ", ", x.offset + x.bytes,
            "), steps '", variant_.steps[x.firstStep].id, "' to '",
            variant_.steps[x.lastStep].id, "'",
            x.kind == Buffer::Class::Output ? ", an output" : "", ")");
      };
      invalid("variant '", variant_.id, "': buffers ", place(a), " and ",
              place(b), " are in one place of arena '",
              variant_.arenas[a.arena].id, "' ",
              b.firstStep > lifeEnd(a) ? "and no event orders their streams"
                                       : "while both live");
    });
  }

  bool isDone(int first, int second) const {
    if (firstUse_[second] < 0)
      return true;
    for (std::size_t s = 0; s < before_.streams(); ++s)
      if (int last =
              lastUse_[static_cast<std::size_t>(first) * before_.streams() + s];
          last > before_.last(firstUse_[second], static_cast<int>(s)))
        return false;
    return true;
  }

  const Plan &plan_;
  const Variant &variant_;
  Findings &findings_;
  HappensBefore before_;
  std::vector<std::vector<Access>> accesses_;
  std::vector<int> lastUse_; ///< [buffers, streams]
  std::vector<int> firstUse_;
};

} // namespace

void checkLifetimes(const Plan &plan, Findings &findings) {
  for (const Variant &variant : plan.variants) {
    LifetimeCheck(plan, variant, findings).run();
    for (const Output &output : variant.outputs)
      findings.of([&] {
        const Buffer &buffer = variant.buffers[output.buffer];
        bool isWritten = false;
        for (const Step &step : variant.steps)
          for (std::size_t a = 0; a < step.args.size(); ++a)
            for (const Operand &operand : step.args[a])
              isWritten = isWritten || (step.info().args[a].isOutput &&
                                        operand.of == Operand::Of::Buffer &&
                                        operand.index == output.buffer);
        if (!isWritten)
          invalid("variant '", variant.id, "', output '", output.id,
                  "': no step writes buffer '", buffer.id, "'");
      });
  }
}

} // namespace layline::runtime
