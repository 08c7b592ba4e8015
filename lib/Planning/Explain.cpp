//===- Explain.cpp - prices of a placed program, for a person -------------===//
#include "layline/Planning/Explain.h"
#include "Planner.h"
#include "dialects/Decoder/Decoder.h"
#include "layline/Placement/Passes.h"
#include "layline/Support/PlaceName.h"
#include "mlir/IR/Threading.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include <set>

using namespace mlir;
using namespace layline;

static int64_t getShare(func::FuncOp function) {
  grid::MeshOp mesh = grid::lookupMesh(function);
  return mesh ? mesh.getAxisSize(kContextAxis).value_or(1) : 1;
}

static StringAttr getAxis(func::FuncOp function) {
  return StringAttr::get(function.getContext(), kTensorAxis);
}

static StringRef getFormName(Form form) {
  return form == Form::Owed ? "owed" : form == Form::Rows ? "by rows" : "whole";
}

namespace {

class Explainer {
public:
  Explainer(const Planner &planner, llvm::raw_ostream &os)
      : planner(planner), program(planner.getProgram()), os(os) {}

  bool explainSite(StringRef site, ArrayRef<int64_t> tokens);
  bool explainValue(StringRef place, ArrayRef<int64_t> tokens);
  std::string listNames() const;

private:
  std::string nameOf(int value) const {
    StringAttr place = grid::getPlace(program.getValue(value).getLoc());
    return place ? place.str() : "a value without a name";
  }

  const Planner &planner;
  const FormProgram &program;
  llvm::raw_ostream &os;
};

} // namespace

bool Explainer::explainSite(StringRef site, ArrayRef<int64_t> tokens) {
  bool found = false;
  for (int64_t count : tokens) {
    FormChoice choice = planner.choose(count);
    std::vector<Alternative> alternatives =
        planner.explainSite(site, choice, count);
    if (alternatives.empty())
      return found;
    found = true;
    double best = alternatives.front().us;
    os << site << " at " << count << " tokens, " << program.getRanks()
       << " ranks; us of all boundaries of the plan, with everything else at "
          "its best\n";
    for (const Alternative &alternative : alternatives) {
      if (alternative.us == kNever)
        continue;
      os << llvm::format("  %10.1f", alternative.us);
      if (alternative.us - best < 5e-3)
        os << "      best";
      else
        os << llvm::format("  %+8.2f", alternative.us - best);
      os << llvm::format("  kernel %8.2f  ", alternative.siteUs)
         << (alternative.isChosen ? "* " : "  ") << alternative.what;
      if (!alternative.source.empty())
        os << "  (" << getName(alternative.confidence) << ": "
           << alternative.source << ")";
      os << "\n";
    }
    std::set<std::string> reasons;
    int producer = -1;
    for (int v = 0; v < static_cast<int>(program.getGraph().values.size()); ++v)
      if (program.getSites(v).size() == 1 && program.getSites(v)[0] == site) {
        producer = program.getGraph().values[v].producer;
        break;
      }
    for (const FormProgram::Missing &missing : program.getMissing())
      if (missing.anchor == producer)
        reasons.insert(missing.kernel + ": " + missing.reason);
    for (const std::string &reason : reasons)
      os << "  not there: " << reason << "\n";
  }
  return found;
}

bool Explainer::explainValue(StringRef place, ArrayRef<int64_t> tokens) {
  const FormGraph &graph = program.getGraph();
  bool found = false;
  for (int value = 0; value < static_cast<int>(graph.values.size()); ++value) {
    if (nameOf(value) != place)
      continue;
    found = true;
    for (int64_t count : tokens) {
      FormChoice choice = planner.choose(count);
      const FormGraph::Op &producer = graph.ops[graph.values[value].producer];
      const FormGraph::Mode &mode =
          producer.modes[choice.modes[graph.values[value].producer]];
      size_t result =
          llvm::find(producer.results, value) - producer.results.begin();
      os << place << " at " << count << " tokens: made "
         << getFormName(mode.results[result]) << ", "
         << program.getRowBytes(value) << " bytes a row";
      for (auto [conversion, name] :
           {std::pair(Conversion::ReduceScatter, "scattered"),
            std::pair(Conversion::AllReduce, "reduced"),
            std::pair(Conversion::AllGather, "gathered")})
        if (choice.converts(value, conversion))
          os << ", " << name;
      os << "\n";
      for (int reader : graph.values[value].readers) {
        const FormGraph::Op &op = graph.ops[reader];
        Form form = Form::Whole;
        for (size_t i = 0; i < op.operands.size(); ++i)
          if (op.operands[i] == value)
            form = op.modes[choice.modes[reader]].operands[i];
        StringAttr at = grid::getPlace(program.getOp(reader)->getLoc());
        os << "  read " << getFormName(form) << " by "
           << program.getOp(reader)->getName().stripDialect() << " "
           << (at ? at.getValue() : StringRef("")) << "\n";
      }
      if (!choice.converts(value, Conversion::AllGather))
        continue;
      FormChoice other = planner.chooseWithoutGather(value, count);
      if (other.us == kNever) {
        os << "  its gather cannot be spared: a reader needs it whole\n";
        continue;
      }
      os << llvm::format("  without its gather the plan costs %+.2f us;",
                         other.us - choice.us);
      StringRef separator = " gathered instead: ";
      for (int v = 0; v < static_cast<int>(graph.values.size()); ++v)
        if (other.converts(v, Conversion::AllGather) &&
            !choice.converts(v, Conversion::AllGather)) {
          os << separator << nameOf(v) << " (" << program.getRowBytes(v)
             << " bytes a row)";
          separator = ", ";
        }
      os << "\n";
    }
  }
  return found;
}

std::string Explainer::listNames() const {
  llvm::SetVector<StringRef> names;
  for (int v = 0; v < static_cast<int>(program.getGraph().values.size()); ++v)
    if (StringAttr place = grid::getPlace(program.getValue(v).getLoc()))
      names.insert(parsePlaceName(place.getValue()).name);
  return llvm::join(names, ", ");
}

std::optional<std::string> layline::explain(func::FuncOp placed,
                                            const CostModel &model, bool fuse,
                                            StringRef experts, StringRef name,
                                            ArrayRef<int64_t> tokens,
                                            std::string &error) {
  Planner planner(placed, getAxis(placed), model, getShare(placed), fuse,
                  findExpertRows(experts).value_or(ExpertRows::Auto));
  std::string text;
  llvm::raw_string_ostream os(text);
  Explainer explainer(planner, os);
  bool isSite = explainer.explainSite(name, tokens);
  bool isValue = explainer.explainValue(name, tokens);
  if (isSite || isValue)
    return text;
  error = ("found '" + name +
           "', expected a place of the model, of a layer as layer.N.NAME: " +
           explainer.listNames())
              .str();
  return std::nullopt;
}

std::vector<ProgramPrice> layline::priceProgram(func::FuncOp placed,
                                                const CostModel &model,
                                                bool fuse,
                                                ArrayRef<int64_t> tokens) {
  Planner planner(placed, getAxis(placed), model, getShare(placed), fuse,
                  ExpertRows::Auto);
  std::vector<ProgramPrice> prices;
  for (int64_t count : tokens) {
    PlanPrice plan = planner.explainPlan(planner.choose(count), count);
    ProgramPrice price;
    price.tokens = count;
    price.today = plan.today;
    price.unfused = plan.unfused;
    price.chosen = plan.chosen;
    price.byRows = plan.byRows;
    price.whole = plan.whole;
    price.fixed = plan.fixed;
    price.confidence = plan.confidence;
    price.sites = static_cast<int64_t>(plan.sites.size());
    for (const SitePrice &site : plan.sites)
      price.sitesByRows += site.scatters;
    price.phases = plan.phases;
    price.launches = plan.launches;
    price.launchesToday = plan.launchesToday;
    prices.push_back(price);
  }
  return prices;
}

std::vector<double> layline::priceStep(func::FuncOp placed,
                                       const CostModel &model, bool fuse,
                                       ArrayRef<int64_t> tokens) {
  const Planner planner(placed, getAxis(placed), model, getShare(placed), fuse,
                        ExpertRows::Auto);
  std::vector<double> prices(tokens.size());
  parallelFor(placed.getContext(), 0, tokens.size(),
              [&](size_t i) { prices[i] = planner.priceStep(tokens[i]); });
  return prices;
}

int64_t layline::getWeightBytes(Value weight) {
  return getWeightBytes(grid::lookupMesh(weight.getDefiningOp()),
                        cast<RankedTensorType>(weight.getType()));
}

std::vector<WeightShare> layline::listWeights(func::FuncOp placed) {
  llvm::MapVector<std::pair<StringRef, unsigned>, WeightShare> shares;
  StringAttr axis = getAxis(placed);
  grid::MeshOp mesh = grid::lookupMesh(placed);
  placed.walk([&](decoder::WeightOp weight) {
    auto type = cast<RankedTensorType>(weight.getType());
    grid::LayoutAttr layout = grid::getLayout(type);
    bool isSplit = layout && layout.getDimSplitBy(axis);
    StringAttr place = grid::getPlace(weight.getLoc());
    StringRef name = place ? StringRef(parsePlaceName(place.getValue()).name)
                           : weight.getKey();
    WeightShare &share = shares[{name, isSplit ? 0u : 1u}];
    share.name = name.str();
    share.isReplicated = !isSplit;
    ++share.count;
    share.bytes += getWeightBytes(mesh, type);
  });
  std::vector<WeightShare> list;
  for (auto &entry : shares)
    list.push_back(std::move(entry.second));
  return list;
}
