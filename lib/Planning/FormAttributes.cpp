//===- FormAttributes.cpp - choices as attributes of ops ------------------===//
#include "FormAttributes.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace layline;

static constexpr StringLiteral kConversionNames[kConversions] = {
    "reduce_scatter", "all_reduce", "all_gather"};

/// The form in which a mode makes its results; whole for ops without choice.
static Form getForm(const FormGraph::Op &op, int mode) {
  const FormGraph::Mode &forms = op.modes[mode];
  if (op.modes.size() == 1 || forms.results.empty())
    return Form::Whole;
  // What begins to owe here is run on all rows.
  bool beginsToOwe = forms.results[0] == Form::Owed &&
                     !llvm::is_contained(forms.operands, Form::Owed);
  return beginsToOwe ? Form::Whole : forms.results[0];
}

void layline::annotate(const FormProgram &program, const FormChoice &choice,
                       ArrayRef<Operation *> ops) {
  const FormGraph &graph = program.getGraph();
  std::vector<int64_t> kernelOfRun(graph.ops.size(), -1);
  std::vector<std::array<int64_t, kConversions>> kernelOfConversion(
      graph.values.size(), {-1, -1, -1});
  for (auto [number, piece] : llvm::enumerate(choice.pieces))
    for (const FormGraph::Event &event : graph.pieces[piece].events) {
      if (event.isConversion)
        kernelOfConversion[event.subject][event.choice] =
            static_cast<int64_t>(number);
      else
        kernelOfRun[event.subject] = static_cast<int64_t>(number);
    }
  for (auto [number, op] : llvm::enumerate(graph.ops)) {
    Operation *target = ops[number];
    Builder builder(target->getContext());
    SmallVector<NamedAttribute> members;
    Form form = getForm(op, choice.modes[number]);
    if (form != Form::Whole)
      members.push_back(builder.getNamedAttr(
          "form", builder.getStringAttr(form == Form::Rows ? "rows" : "owed")));
    if (kernelOfRun[number] >= 0)
      members.push_back(builder.getNamedAttr(
          "kernel", builder.getI64IntegerAttr(kernelOfRun[number])));
    SmallVector<Attribute> results;
    bool converts = false;
    // Graph results are those of the op in order, less values that no choice is
    // about.
    for (Value result : program.getOp(static_cast<int>(number))->getResults()) {
      SmallVector<NamedAttribute> done;
      int value = program.findValue(result);
      for (unsigned c = 0; value >= 0 && c < kConversions; ++c)
        if (choice.converts(value, static_cast<Conversion>(c)))
          done.push_back(builder.getNamedAttr(
              kConversionNames[c],
              builder.getI64IntegerAttr(kernelOfConversion[value][c])));
      converts |= !done.empty();
      results.push_back(builder.getDictionaryAttr(done));
    }
    if (converts)
      members.push_back(
          builder.getNamedAttr("results", builder.getArrayAttr(results)));
    if (!members.empty())
      target->setAttr(kChoice, builder.getDictionaryAttr(members));
  }
}

FailureOr<OpChoice> layline::readChoice(Operation *op) {
  OpChoice choice;
  choice.results.resize(op->getNumResults());
  Attribute attr = op->getAttr(kChoice);
  if (!attr)
    return choice;
  auto bad = [&]() -> FailureOr<OpChoice> {
    return op->emitOpError("has '")
           << kChoice << "' = " << attr
           << ", expected {form = \"rows\" | \"owed\", kernel = N, results = "
              "[{reduce_scatter | all_reduce | all_gather = N}]}";
  };
  auto dict = dyn_cast<DictionaryAttr>(attr);
  if (!dict)
    return bad();
  for (NamedAttribute member : dict) {
    if (member.getName() == "form") {
      auto text = dyn_cast<StringAttr>(member.getValue());
      if (!text || (text != "rows" && text != "owed"))
        return bad();
      choice.form = text == "rows" ? Form::Rows : Form::Owed;
    } else if (member.getName() == "kernel") {
      auto number = dyn_cast<IntegerAttr>(member.getValue());
      if (!number)
        return bad();
      choice.kernel = number.getInt();
    } else if (member.getName() == "results") {
      auto list = dyn_cast<ArrayAttr>(member.getValue());
      if (!list || list.size() != op->getNumResults())
        return bad();
      for (auto [index, entry] : llvm::enumerate(list)) {
        auto conversions = dyn_cast<DictionaryAttr>(entry);
        if (!conversions)
          return bad();
        for (unsigned c = 0; c < kConversions; ++c)
          if (Attribute kernel = conversions.get(kConversionNames[c])) {
            auto number = dyn_cast<IntegerAttr>(kernel);
            if (!number)
              return bad();
            choice.results[index].push_back(
                {static_cast<Conversion>(c), number.getInt()});
          }
      }
    } else {
      return bad();
    }
  }
  return choice;
}
