//===- KVArguments.cpp - what the commands of `layline kv` share ----------===//
#include "KVArguments.h"
#include "TextTable.h"
#include "layline/Driver/KVModel.h"
#include "plan/Error.h"
#include <iostream>
#include <map>

using namespace layline;
using namespace layline::tool;

static const std::map<std::string, kv::SenderRule> kSenders = {
    {"all", kv::SenderRule::All},
    {"cp0", kv::SenderRule::First},
    {"chunk", kv::SenderRule::ByChunk},
    {"room", kv::SenderRule::Room}};

void layline::tool::addPlanOptions(CLI::App &command,
                                   KVPlanArguments &arguments) {
  command
      .add_option("--model", arguments.model,
                  "config.json of Hugging Face, or a shape file (docs/kv.md)")
      ->required();
  command
      .add_option("--from", arguments.from,
                  "Layout of the source: tp1,cp4 or tp8,page64,fp8. Parts: tpN "
                  "(ranks that the heads of a request are divided among), cpN, "
                  "ppN or ppA+B, dpN, dcpN[:I], pageN, nhd, hnd, bf16, f16, "
                  "f32, fp8, zigzag, contiguous, interleave[:I], layersplit, "
                  "owners=A+B, pagesplit, cpstore")
      ->required();
  command.add_option("--to", arguments.to, "Layout of the target, alike")
      ->required();
  command
      .add_option("--profile", arguments.profile,
                  "sglang-compat: the batches and descriptors of SGLang with "
                  "Mooncake; optimised: the same bytes, each once, joined and "
                  "packed")
      ->check(CLI::IsMember({"sglang-compat", "optimised"}))
      ->capture_default_str();
  command
      .add_option("--senders", arguments.senders,
                  "Which cp ranks send what all of them keep: all (by pages of "
                  "the request), chunk (by pages of each chunk), cp0, or room "
                  "(rank room mod cp)")
      ->check(CLI::IsMember({"all", "chunk", "cp0", "room"}))
      ->capture_default_str();
  command
      .add_option("--max-descriptors", arguments.maxDescriptors,
                  "Most descriptors of a batch, 0 for no limit (optimised)")
      ->check(CLI::Range(int64_t(0), int64_t(1) << 40))
      ->capture_default_str();
  command
      .add_option("--pack-below", arguments.packBelow,
                  "Blocks below this size are packed, 0 for none (optimised)")
      ->capture_default_str();
  command
      .add_option("--slot-bytes", arguments.slotBytes,
                  "A relay slot, which blocks of one pair are packed into")
      ->capture_default_str();
  command
      .add_option("--slot-lanes", arguments.slotLanes,
                  "Lanes that the slots of a rank are spread over: rounds of "
                  "different lanes go beside each other")
      ->check(CLI::Range(1, kv::kMostLanes))
      ->capture_default_str();
}

void layline::tool::addTableOptions(CLI::App &command,
                                    KVRequestArguments &arguments) {
  command.add_flag("--omit-prefix-pages", arguments.omitsPrefixPages,
                   "Page tables begin behind the pages of the prefix, as "
                   "engines publish them that keep those to themselves");
}

void layline::tool::addRequestOptions(CLI::App &command,
                                      KVRequestArguments &arguments) {
  constexpr int64_t kMost = int64_t(1) << 32;
  command.add_option("--tokens", arguments.tokens, "Tokens of the request")
      ->check(CLI::Range(int64_t(1), kMost))
      ->required();
  command
      .add_option("--chunk", arguments.chunk,
                  "Tokens of a chunk; 0: the request is one")
      ->check(CLI::Range(int64_t(0), kMost))
      ->capture_default_str();
  command
      .add_option("--prefix", arguments.prefix,
                  "Tokens that the target has already")
      ->check(CLI::Range(int64_t(0), kMost))
      ->capture_default_str();
  command.add_option("--room", arguments.room, "The request's room number")
      ->check(CLI::Range(int64_t(0), kMost))
      ->capture_default_str();
  command
      .add_option("--pages", arguments.pages,
                  "How the request's pages lie in the pools: contiguous or "
                  "fragmented")
      ->check(CLI::IsMember({"contiguous", "fragmented"}))
      ->capture_default_str();
}

static std::optional<int64_t> readSize(const char *option,
                                       const std::string &text) {
  if (text == "0")
    return 0;
  std::optional<int64_t> bytes = parseBytes(text);
  if (!bytes)
    std::cerr << option << ": found '" << text
              << "', expected a size such as 16KiB or 0\n";
  return bytes;
}

std::optional<KVPlanned> layline::tool::planKV(const KVPlanArguments &arguments,
                                               int &exitCode) {
  exitCode = Unusable;
  KVPlanned planned;
  std::optional<int64_t> pack = readSize("--pack-below", arguments.packBelow);
  std::optional<int64_t> slot = readSize("--slot-bytes", arguments.slotBytes);
  if (!pack || !slot)
    return std::nullopt;
  if (*slot == 0) {
    std::cerr << "--slot-bytes: found 0, expected a size such as 32MiB\n";
    return std::nullopt;
  }
  std::string error;
  bool isRefused = false;
  std::optional<kv::Model> model =
      readKVModel(arguments.model, error, isRefused);
  if (!model) {
    std::cerr << error << "\n";
    exitCode = isRefused ? Refused : Unusable;
    return std::nullopt;
  }
  planned.model = std::move(*model);
  planned.options.profile = arguments.profile == "optimised"
                                ? kv::Profile::Optimised
                                : kv::Profile::SGLangCompat;
  planned.options.senders = kSenders.at(arguments.senders);
  planned.options.maxDescriptors = arguments.maxDescriptors;
  planned.options.packBelow = *pack;
  planned.options.slotBytes = *slot;
  planned.options.lanes = arguments.slotLanes;
  try {
    planned.source = kv::parseSideSpec(arguments.from);
    planned.target = kv::parseSideSpec(arguments.to);
    planned.plan = kv::planMigration(planned.model, planned.source,
                                     planned.target, planned.options);
  } catch (const runtime::Error &failed) {
    std::cerr << failed.what() << "\n";
    exitCode = failed.status() == LAYLINE_REFUSED_FEATURE ? Refused : Unusable;
    return std::nullopt;
  }
  exitCode = Good;
  return planned;
}

std::optional<kv::TrafficOptions>
layline::tool::readRequest(const KVRequestArguments &arguments, int &exitCode) {
  if (arguments.prefix > arguments.tokens) {
    std::cerr << "--prefix: found " << arguments.prefix << ", expected 0 to "
              << arguments.tokens << ", the request's tokens\n";
    exitCode = Unusable;
    return std::nullopt;
  }
  kv::TrafficOptions request;
  request.tokens = arguments.tokens;
  request.chunk = arguments.chunk;
  request.prefix = arguments.prefix;
  request.room = arguments.room;
  request.pages = arguments.pages == "contiguous" ? kv::PageOrder::Contiguous
                                                  : kv::PageOrder::Fragmented;
  request.omitsPrefixPages = arguments.omitsPrefixPages;
  return request;
}

int layline::tool::runPlanned(
    const KVPlanArguments &plan, const KVRequestArguments &request,
    const std::function<int(const KVPlanned &, const kv::TrafficOptions &)>
        &run) {
  int exitCode = Good;
  std::optional<kv::TrafficOptions> wanted = readRequest(request, exitCode);
  if (!wanted)
    return exitCode;
  std::optional<KVPlanned> planned = planKV(plan, exitCode);
  if (!planned)
    return exitCode;
  try {
    return run(*planned, *wanted);
  } catch (const runtime::Error &failed) {
    std::cerr << failed.what() << "\n";
    return Unusable;
  }
}
