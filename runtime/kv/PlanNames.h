// The words of kv.json.
#ifndef LAYLINE_RUNTIME_KV_PLANNAMES_H
#define LAYLINE_RUNTIME_KV_PLANNAMES_H

#include "kv/Plan.h"

namespace layline::kv {

template <typename Value> struct Name {
  Value value;
  const char *text;
};

inline constexpr Name<TokenPart::Kind> kTokenPartKinds[] = {
    {TokenPart::Kind::Whole, "whole"},
    {TokenPart::Kind::Contiguous, "contiguous"},
    {TokenPart::Kind::Zigzag, "zigzag"},
    {TokenPart::Kind::Cyclic, "cyclic"},
    {TokenPart::Kind::Room, "room"},
    {TokenPart::Kind::PageNumber, "page_number"}};

inline constexpr Name<TokenPart::Of> kTokenPartDomains[] = {
    {TokenPart::Of::Request, "request"}, {TokenPart::Of::Chunk, "chunk"}};

inline constexpr Name<Grain> kGrains[] = {
    {Grain::Token, "token"}, {Grain::Page, "page"}, {Grain::Free, "free"}};

inline constexpr Name<Batching> kBatchings[] = {{Batching::Layer, "layer"},
                                                {Batching::All, "all"}};

inline constexpr Name<Packing> kPackings[] = {{Packing::None, "none"},
                                              {Packing::Source, "source"},
                                              {Packing::Target, "target"},
                                              {Packing::Both, "both"}};

template <typename Value, std::size_t N>
const char *getName(const Name<Value> (&names)[N], Value value) {
  for (const Name<Value> &name : names)
    if (name.value == value)
      return name.text;
  return "unknown";
}

} // namespace layline::kv

#endif // LAYLINE_RUNTIME_KV_PLANNAMES_H
