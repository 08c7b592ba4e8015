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

inline constexpr Name<Report> kReports[] = {{Report::Main, "main"},
                                            {Report::Index, "index"},
                                            {Report::State, "state"},
                                            {Report::Auxiliary, "auxiliary"}};

inline constexpr Name<Readiness::When> kReadyWhen[] = {
    {Readiness::When::All, "all"}, {Readiness::When::Any, "any"}};

inline constexpr Name<Readiness::Counting> kCountings[] = {
    {Readiness::Counting::Senders, "sender"},
    {Readiness::Counting::Reports, "report"}};

inline constexpr Name<Readiness::Reporting> kReportings[] = {
    {Readiness::Reporting::Arrived, "arrived"},
    {Readiness::Reporting::Posted, "posted"}};

inline constexpr Name<Readiness::Naming> kNamings[] = {
    {Readiness::Naming::Request, "request"}, {Readiness::Naming::Room, "room"}};

inline constexpr Name<Readiness::Failure> kFailures[] = {
    {Readiness::Failure::Sticky, "sticky"},
    {Readiness::Failure::UntilNextReport, "until_next_report"}};

inline constexpr Name<Store> kStores[] = {
    {Store::SourcePages, "source_pages"},
    {Store::TargetPages, "target_pages"},
    {Store::BroadcastScratch, "broadcast_scratch"},
    {Store::SourceSlots, "source_slots"},
    {Store::TargetSlots, "target_slots"}};

inline constexpr Name<Moment> kMoments[] = {
    {Moment::Taken, "taken"},     {Moment::Posted, "posted"},
    {Moment::Arrived, "arrived"}, {Moment::Consumed, "consumed"},
    {Moment::Failed, "failed"},   {Moment::Quiet, "quiet"}};

inline constexpr Name<Reuse> kReuses[] = {{Reuse::AnyRequest, "any_request"},
                                          {Reuse::NextRound, "next_round"},
                                          {Reuse::NextLayer, "next_layer"}};

/// Of RelaySlot::isAtSource.
inline constexpr Name<bool> kSlotPlaces[] = {{true, "source"},
                                             {false, "target"}};

template <typename Value, std::size_t N>
const char *getName(const Name<Value> (&names)[N], Value value) {
  for (const Name<Value> &name : names)
    if (name.value == value)
      return name.text;
  return "unknown";
}

} // namespace layline::kv

#endif // LAYLINE_RUNTIME_KV_PLANNAMES_H
