// Keys for stores of pages (a prefix cache on disk, a pool that engines share):
// equal for pages whose bytes mean the same, different wherever they may not.
#ifndef LAYLINE_RUNTIME_KV_LAYOUTDIGEST_H
#define LAYLINE_RUNTIME_KV_LAYOUTDIGEST_H

#include "kv/Plan.h"

#include <cstdint>
#include <string>

namespace layline::kv {

/// SHA-256, in 64 hexadecimal digits, of all that decides the bytes of a page
/// that a rank keeps in a kind of buffer: the model's name; tokens and bytes of
/// a page; of each of its planes the name, element type, heads, bytes of a
/// head, window, where it lies in the page, its strides, and which heads of the
/// model the rank has; which tokens of a request; and `layers`: the one that
/// the page is of, or all of those that are stored together.
///
/// Not in it: coordinates and specs, so that replicas and equal layouts share
/// pages. A store's key adds the revision of the weights and the tokens up to
/// the page.
std::string getLayoutDigest(const Plan &plan, const Side &side,
                            const Rank &rank, int buffer,
                            const std::vector<std::int64_t> &layers);

/// By rank of a side and kind of buffer, for all layers of the rank.
std::vector<std::vector<std::string>> getLayoutDigests(const Plan &plan,
                                                       const Side &side);

} // namespace layline::kv

#endif // LAYLINE_RUNTIME_KV_LAYOUTDIGEST_H
