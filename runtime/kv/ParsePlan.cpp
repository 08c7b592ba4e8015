#include "kv/ParsePlan.h"

#include "kv/CheckPlan.h"
#include "kv/CompletePlan.h"
#include "kv/ParseParts.h"
#include "json/ReadFile.h"
#include "json/StrictJson.h"

#include <algorithm>

namespace layline::kv {

using runtime::Cursor;

namespace {

TokenPart parseTokenPart(const Cursor &cursor) {
  TokenPart part;
  if (!cursor.json().is_object())
    cursor.fail("is ", cursor.json().type_name(), "; an object is expected");
  part.kind = parseName(cursor.at("kind"), kTokenPartKinds);
  if (part.kind == TokenPart::Kind::Whole) {
    expectKeys(cursor, {"kind"});
    return part;
  }
  // Of these nothing is dealt out in runs.
  bool isBare = part.kind == TokenPart::Kind::Room ||
                part.kind == TokenPart::Kind::PageNumber;
  if (isBare)
    expectKeys(cursor, {"kind", "parts", "index"});
  else
    expectKeys(cursor, {"kind", "parts", "index", "unit", "of"});
  part.parts = cursor.at("parts").integer();
  part.index = cursor.at("index").integer();
  if (isBare)
    return part;
  part.unit = cursor.at("unit").integer();
  part.of = parseName(cursor.at("of"), kTokenPartDomains);
  return part;
}

Plane parsePlane(const Cursor &cursor) {
  expectKeys(cursor, {"name", "dtype", "heads", "head_bytes", "state", "window",
                      "layers"});
  Plane plane;
  plane.name = cursor.at("name").string();
  plane.dtype = cursor.at("dtype").string();
  plane.heads = cursor.at("heads").integer();
  plane.headBytes = cursor.at("head_bytes").integer();
  plane.isState = cursor.at("state").boolean();
  plane.window = cursor.at("window").integer();
  plane.layers = parseIntegers(cursor.at("layers"));
  return plane;
}

Placement parsePlacement(const Cursor &cursor, const Plane &plane,
                         const std::vector<Buffer> &buffers) {
  expectKeys(cursor, {"plane", "buffer", "offset", "token_stride",
                      "head_stride", "heads"});
  if (cursor.at("plane").string() != plane.name)
    cursor.at("plane").fail("is '", cursor.at("plane").string(), "'; '",
                            plane.name,
                            "' is expected: planes stand in the plan's order");
  Placement place;
  place.buffer = parseReference(cursor.at("buffer"), buffers, "buffer");
  place.pageBytes = buffers[place.buffer].pageBytes;
  place.offset = cursor.at("offset").integer();
  place.tokenStride = cursor.at("token_stride").integer();
  place.headStride = cursor.at("head_stride").integer();
  place.heads = cursor.at("heads").integer();
  return place;
}

Rank parseRank(const Cursor &cursor, const std::vector<Buffer> &buffers) {
  expectKeys(cursor,
             {"pp", "dp", "cp", "tp", "tokens", "head_index", "layers"});
  Rank rank;
  rank.pp = cursor.at("pp").integer();
  rank.dp = cursor.at("dp").integer();
  rank.cp = cursor.at("cp").integer();
  rank.tp = cursor.at("tp").integer();
  rank.tokens = parseTokenPart(cursor.at("tokens"));
  rank.headIndex = cursor.at("head_index").integer();
  Cursor layers = cursor.at("layers");
  forEach(layers,
          [&](const Cursor &c) { rank.layers.push_back(parseIntegers(c)); });
  if (rank.layers.size() != buffers.size())
    layers.fail("has ", rank.layers.size(), " lists; one for each of the ",
                buffers.size(), " buffers is expected");
  return rank;
}

Side parseSide(const Cursor &cursor, const std::vector<Plane> &planes) {
  expectKeys(cursor, {"spec", "page_tokens", "head_parts", "buffers", "planes",
                      "ranks"});
  Side side;
  side.spec = cursor.at("spec").string();
  side.pageTokens = cursor.at("page_tokens").integer();
  side.headParts = cursor.at("head_parts").integer();
  Cursor buffers = cursor.at("buffers");
  forEach(buffers, [&](const Cursor &c) {
    expectKeys(c, {"name", "table", "page_bytes"});
    side.buffers.push_back({c.at("name").string(), c.at("table").string(),
                            c.at("page_bytes").integer()});
  });
  expectUnique(buffers, side.buffers);
  Cursor places = cursor.at("planes");
  forEach(places, [&](const Cursor &c) {
    std::size_t number = side.planes.size();
    if (number == planes.size())
      c.fail("is of no plane; there are ", planes.size());
    side.planes.push_back(parsePlacement(c, planes[number], side.buffers));
  });
  if (side.planes.size() != planes.size())
    places.fail("has ", side.planes.size(), " elements; one for each of the ",
                planes.size(), " planes is expected");
  forEach(cursor.at("ranks"), [&](const Cursor &c) {
    side.ranks.push_back(parseRank(c, side.buffers));
  });
  return side;
}

Move parseMove(const Cursor &cursor, const Plan &plan) {
  expectKeys(cursor, {"planes", "grain", "source_head", "target_head", "heads",
                      "share", "layers"});
  Move move;
  forEach(cursor.at("planes"), [&](const Cursor &c) {
    move.planes.push_back(parseReference(c, plan.planes, "plane"));
  });
  move.grain = parseName(cursor.at("grain"), kGrains);
  move.sourceHead = cursor.at("source_head").integer();
  move.targetHead = cursor.at("target_head").integer();
  move.heads = cursor.at("heads").integer();
  move.share = parseTokenPart(cursor.at("share"));
  forEach(cursor.at("layers"), [&](const Cursor &c) {
    std::vector<std::int64_t> run = parseIntegers(c);
    if (run.size() != 3)
      c.fail("has ", run.size(),
             " numbers; three are expected: the first buffer at the source, "
             "the first at the target, and how many");
    move.layers.push_back({run[0], run[1], run[2]});
  });
  return move;
}

Transfer parseTransfer(const Cursor &cursor, const Plan &plan) {
  expectKeys(cursor, {"source", "target", "packing", "batching",
                      "with_last_chunk", "moves"});
  Transfer transfer;
  transfer.source = parseIndex(cursor.at("source"), plan.source.ranks.size());
  transfer.target = parseIndex(cursor.at("target"), plan.target.ranks.size());
  transfer.packing = parseName(cursor.at("packing"), kPackings);
  transfer.batching = parseName(cursor.at("batching"), kBatchings);
  transfer.isWithLastChunk = cursor.at("with_last_chunk").boolean();
  forEach(cursor.at("moves"), [&](const Cursor &c) {
    transfer.moves.push_back(parseMove(c, plan));
  });
  return transfer;
}

/// Before anything else: a newer format may look different. Gives whether the
/// plan says what completes it.
bool checkVersion(const Cursor &root) {
  if (!root.json().is_object())
    root.fail("is ", root.json().type_name(), "; an object is expected");
  Cursor format = root.at("format");
  if (format.string() != kFormat)
    format.fail("is '", format.string(), "'; '", kFormat, "' is expected");
  Cursor version = root.at("version");
  bool isFirst = version.string() == kFirstVersion;
  if (!isFirst && version.string() != kVersion)
    runtime::fail(LAYLINE_REFUSED_FEATURE, "version: is '", version.string(),
                  "'; this reader knows '", kFirstVersion, "' and '", kVersion,
                  "'");
  Cursor features = root.at("features");
  // Those of the version, in their order, then those that a plan needs.
  std::size_t known = isFirst ? std::size(kFeatures) : 0;
  forEach(features, [&](const Cursor &c) {
    const std::string &feature = c.string();
    if (known < std::size(kFeatures) && feature == kFeatures[known]) {
      ++known;
      return;
    }
    if (feature == kPageNumberFeature)
      return;
    if (!isFirst && std::any_of(std::begin(kFeatures), std::end(kFeatures),
                                [&](const char *k) { return feature == k; }))
      c.fail("is '", feature, "'; each feature of version ", kVersion,
             " once, in their order, is expected");
    runtime::fail(LAYLINE_REFUSED_FEATURE, c.path(), ": needs the feature '",
                  feature, "', which this reader does not have");
  });
  if (!isFirst && known < std::size(kFeatures))
    features.fail("has no '", kFeatures[known], "', which version ", kVersion,
                  " has");
  return !isFirst;
}

/// What a reader without it would take for something else is named in front.
void checkFeatures(const Cursor &root, const Plan &plan) {
  bool isNamed = false;
  forEach(root.at("features"), [&](const Cursor &c) {
    isNamed |= c.string() == kPageNumberFeature;
  });
  if (usesPageNumbers(plan) && !isNamed)
    root.at("features")
        .fail("has no '", kPageNumberFeature,
              "', which ranks of the plan keep their tokens by");
}

Plan parseDocument(const nlohmann::json &document) {
  Cursor root(document);
  bool isComplete = checkVersion(root);
  if (isComplete)
    expectKeys(root,
               {"format", "version", "features", "model", "profile", "planes",
                "source", "target", "policy", "transfers", "responders",
                "readiness", "lifetimes", "relay", "digests"});
  else
    expectKeys(root,
               {"format", "version", "features", "model", "profile", "planes",
                "source", "target", "policy", "transfers", "responders"});
  Plan plan;
  plan.model = root.at("model").string();
  plan.profile = root.at("profile").string();
  Cursor planes = root.at("planes");
  forEach(planes,
          [&](const Cursor &c) { plan.planes.push_back(parsePlane(c)); });
  expectUnique(planes, plan.planes);
  plan.source = parseSide(root.at("source"), plan.planes);
  plan.target = parseSide(root.at("target"), plan.planes);
  Cursor policy = root.at("policy");
  expectKeys(policy, {"rounds_to_pages", "prefix_unit", "max_descriptors",
                      "slot_bytes"});
  plan.policy.roundsToPages = policy.at("rounds_to_pages").boolean();
  plan.policy.prefixUnit = policy.at("prefix_unit").integer();
  plan.policy.maxDescriptors = policy.at("max_descriptors").integer();
  plan.policy.slotBytes = policy.at("slot_bytes").integer();
  checkFeatures(root, plan);
  forEach(root.at("transfers"), [&](const Cursor &c) {
    plan.transfers.push_back(parseTransfer(c, plan));
  });
  forEach(root.at("responders"), [&](const Cursor &c) {
    std::vector<int> ranks;
    forEach(c, [&](const Cursor &rank) {
      ranks.push_back(parseIndex(rank, plan.source.ranks.size()));
    });
    plan.responders.push_back(std::move(ranks));
  });
  checkSides(plan);
  checkMoves(plan);
  if (isComplete)
    parseCompletion(root, plan);
  else
    completePlan(plan, kDefaultLanes);
  return plan;
}

} // namespace

Plan parsePlan(std::string_view text, const std::string &name) {
  nlohmann::json document;
  std::string problem;
  if (!runtime::parseStrictJson(text, document, problem))
    runtime::fail(LAYLINE_UNREADABLE_FILE, "'", name,
                  "': not a JSON document: ", problem);
  try {
    Plan plan = parseDocument(document);
    checkCompletion(plan);
    return plan;
  } catch (const runtime::Error &error) {
    runtime::fail(error.status(), "'", name, "': ", error.what());
  }
}

Plan readPlan(const std::string &path) {
  return parsePlan(runtime::readFile(path), path);
}

} // namespace layline::kv
