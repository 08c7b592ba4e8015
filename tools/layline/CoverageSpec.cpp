//===- CoverageSpec.cpp - grids and meshes as people type them ------------===//
#include "CoverageSpec.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

using namespace layline;
using namespace layline::tool;

/// Far above any real one; a counterexample is looked for item by item.
static constexpr int64_t kMostRanks = 4096;
static constexpr int64_t kMostItems = int64_t(1) << 20;

[[noreturn]] static void refuse(const std::string &option,
                                const std::string &found,
                                const std::string &expected) {
  throw CLI::ValidationError(option,
                             "found '" + found + "', expected " + expected);
}

static std::vector<std::string> splitAt(const std::string &text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);)
    parts.push_back(part);
  return parts;
}

static int64_t parseNumber(const std::string &option, const std::string &text,
                           int64_t least, int64_t most,
                           const std::string &what) {
  bool isDigits = !text.empty() && text.size() <= 18 &&
                  std::all_of(text.begin(), text.end(),
                              [](char c) { return '0' <= c && c <= '9'; });
  int64_t number = isDigits ? std::stoll(text) : -1;
  if (number < least || number > most)
    refuse(option, text,
           what + " from " + std::to_string(least) + " to " +
               std::to_string(most));
  return number;
}

std::vector<MeshAxis> layline::tool::parseMesh(const std::string &text) {
  std::vector<MeshAxis> mesh;
  for (const std::string &entry : splitAt(text, ',')) {
    size_t equals = entry.find('=');
    if (equals == 0 || equals == std::string::npos)
      refuse("--mesh", entry, "AXIS=RANKS, as in tp=8,cp=4");
    MeshAxis axis{entry.substr(0, equals),
                  parseNumber("--mesh", entry.substr(equals + 1), 1, kMostRanks,
                              "a number of ranks")};
    for (const MeshAxis &other : mesh)
      if (other.name == axis.name)
        refuse("--mesh", entry, "each axis once");
    mesh.push_back(axis);
  }
  if (mesh.empty())
    refuse("--mesh", text, "AXIS=RANKS, as in tp=8,cp=4");
  return mesh;
}

namespace {

class ChainParser {
public:
  ChainParser(std::string option, const std::string &text,
              const std::vector<MeshAxis> &mesh)
      : option(std::move(option)), mesh(mesh) {
    std::istringstream stream(text);
    for (std::string word; stream >> word;)
      words.push_back(word);
  }

  std::vector<Link> parse() {
    std::vector<Link> links;
    if (words.size() == 1 && words[0] == "whole")
      return links;
    links.push_back(parseLink());
    while (next < words.size()) {
      if (words[next] != "then")
        refuse(option, words[next], "'then' and another split, or the end");
      ++next;
      links.push_back(parseLink());
    }
    return links;
  }

private:
  std::string take(const std::string &expected) {
    if (next == words.size())
      refuse(option, "", expected);
    return words[next++];
  }

  Link parseLink() {
    std::string kind = take("a split, as in 'block tp'");
    Link link;
    if (kind == "block")
      link.partition = Partition::block();
    else if (kind == "zigzag")
      link.partition = Partition::zigzag();
    else if (kind == "readers")
      link.partition = Partition::readers(0);
    else if (kind == "first_readers")
      link.partition = Partition::firstReaders(0);
    else if (kind == "cyclic")
      link.partition = Partition::cyclic(
          parseNumber(option, take("the length of a run, as in 'cyclic 64 cp'"),
                      1, kMostItems, "the length of a run"));
    else if (kind != "owner")
      refuse(option, kind,
             "block, zigzag, cyclic, owner, readers or first_readers, or "
             "'whole'");
    link.axis = take("an axis of the mesh behind '" + kind + "'");
    auto axis =
        std::find_if(mesh.begin(), mesh.end(), [&](const MeshAxis &known) {
          return known.name == link.axis;
        });
    if (axis == mesh.end()) {
      std::string names;
      for (const MeshAxis &known : mesh)
        names += (names.empty() ? "" : ", ") + known.name;
      refuse(option, link.axis, "an axis of --mesh: " + names);
    }
    link.ranks = axis->size;
    if (kind == "owner") {
      std::vector<int64_t> owners;
      for (const std::string &owner :
           splitAt(take("the owner of each item, as in 'owner cp 0,0,1'"), ','))
        owners.push_back(
            parseNumber(option, owner, 0, kMostRanks, "the rank of an owner"));
      link.partition = Partition::owner(std::move(owners));
    }
    return link;
  }

  std::string option;
  const std::vector<MeshAxis> &mesh;
  std::vector<std::string> words;
  size_t next = 0;
};

} // namespace

GridDim layline::tool::parseDim(const std::string &option,
                                const std::string &name,
                                const std::string &text,
                                const std::vector<MeshAxis> &mesh) {
  GridDim dim{name, std::nullopt, {}};
  std::string chain = text;
  size_t colon = text.find(':');
  bool isNumber = !text.empty() && '0' <= text[0] && text[0] <= '9';
  if (isNumber || colon != std::string::npos) {
    dim.items = parseNumber(option, text.substr(0, colon), 0, kMostItems,
                            "a number of " + name + "s");
    chain = colon == std::string::npos ? "whole" : text.substr(colon + 1);
  }
  dim.links = ChainParser(option, chain, mesh).parse();
  return dim;
}
