//===- RequestPages.h - addresses and pages to count with -------*- C++ -*-===//
#ifndef LAYLINE_LIB_KV_REQUESTPAGES_H
#define LAYLINE_LIB_KV_REQUESTPAGES_H

#include "kv/Binding.h"
#include "layline/KV/Report.h"

namespace layline::kv {

/// Made-up addresses and page tables of a rank for one request: nothing is
/// there, so descriptors can be counted and not carried out.
class RequestPages {
public:
  RequestPages(const Side &side, const Rank &rank, std::int64_t tokens,
               PageOrder order);
  RankMemory getMemory() const;

private:
  std::vector<std::uint64_t> addresses;
  std::vector<std::vector<std::int32_t>> tables; ///< by table of the side
};

} // namespace layline::kv

#endif // LAYLINE_LIB_KV_REQUESTPAGES_H
