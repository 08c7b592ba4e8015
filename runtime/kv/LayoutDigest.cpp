#include "kv/LayoutDigest.h"

#include "kv/PlanNames.h"
#include "kv/Sha256.h"

#include <map>

namespace layline::kv {

namespace {

/// Fields with their lengths in front: no two lists of fields are one text.
class Text {
public:
  Text &operator<<(const std::string &field) {
    text += std::to_string(field.size()) + ":" + field;
    return *this;
  }
  Text &operator<<(const char *field) { return *this << std::string(field); }
  Text &operator<<(std::int64_t field) {
    return *this << std::to_string(field);
  }
  std::string text;
};

std::string getText(const Plan &plan, const Side &side, const Rank &rank,
                    int buffer, const std::vector<std::int64_t> &layers) {
  Text text;
  text << "layline-kv-page-1" << plan.model << side.pageTokens
       << side.buffers[buffer].pageBytes;
  const TokenPart &part = rank.tokens;
  text << getName(kTokenPartKinds, part.kind) << part.parts << part.index
       << part.unit;
  std::int64_t planes = 0;
  for (const Placement &place : side.planes)
    planes += place.buffer == buffer;
  text << planes;
  for (std::size_t i = 0; i < plan.planes.size(); ++i) {
    const Plane &plane = plan.planes[i];
    const Placement &place = side.planes[i];
    if (place.buffer != buffer)
      continue;
    HeadRange heads = getHeads(plane, side, rank);
    text << plane.name << plane.dtype << plane.heads << plane.headBytes
         << static_cast<std::int64_t>(plane.isState) << plane.window
         << place.offset << place.tokenStride << place.headStride << heads.begin
         << heads.end;
  }
  text << static_cast<std::int64_t>(layers.size());
  for (std::int64_t layer : layers)
    text << layer;
  return std::move(text.text);
}

} // namespace

std::vector<std::vector<std::string>> getLayoutDigests(const Plan &plan,
                                                       const Side &side) {
  std::map<std::string, std::string> known; // replicas have equal texts
  std::vector<std::vector<std::string>> digests;
  for (const Rank &rank : side.ranks) {
    digests.emplace_back();
    for (int i = 0; i < static_cast<int>(side.buffers.size()); ++i) {
      std::string text = getText(plan, side, rank, i, rank.layers[i]);
      auto [entry, isNew] = known.try_emplace(std::move(text));
      if (isNew)
        entry->second = getSha256(entry->first);
      digests.back().push_back(entry->second);
    }
  }
  return digests;
}

std::string getLayoutDigest(const Plan &plan, const Side &side,
                            const Rank &rank, int buffer,
                            const std::vector<std::int64_t> &layers) {
  return getSha256(getText(plan, side, rank, buffer, layers));
}

} // namespace layline::kv
