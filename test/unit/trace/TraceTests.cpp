//===- TraceTests.cpp - what the tests of traces share --------------------===//
#include "TraceTests.h"

using namespace layline::trace;

DeviceTrace layline::trace::readB200() {
  return readTrace(sourcePath("test/traces/"
                              "b200_tp8_vllm_gptoss120b_prefill888.json.gz"))
      .front();
}

std::vector<ExpectedProgram> layline::trace::expectB200() {
  return expectPrograms(
      readSource("test/traces/gpt-oss-120b_tp8_whole.plan.json.gz"), "plan");
}

std::vector<KnownPlace> layline::trace::knownPlacesB200() {
  std::vector<KnownPlace> known(19, {-1, "step_inputs", "step_inputs"});
  auto add = [&](int64_t layer, const std::string &module,
                 const std::string &place) {
    known.push_back(
        {layer, module,
         layer < 0 ? place : "layer." + std::to_string(layer) + "." + place});
  };
  add(-1, "embedding", "embedding"); // rows
  add(-1, "embedding", "embedding"); // zeros for other ranks' tokens
  for (int i = 0; i < 3; ++i)        // copy, all-reduce, copy
    add(-1, "boundary", "embedding");
  add(0, "input_norm", "input_norm");
  for (int64_t layer = 0; layer < 36; ++layer) {
    add(layer, "qkv", "q_proj");
    add(layer, "rope", "q_rope"); // one kernel for queries and keys
    add(layer, "kv_store", "key");
    add(layer, "attention_core", "attention"); // queries to fp8
    add(layer, "kv_store", "key");
    add(layer, "attention_core", "attention");
    add(layer, "o_proj", "o_proj");
    for (int i = 0; i < 3; ++i)
      add(layer, "boundary", "o_proj");
    add(layer, "post_attn_norm", "post_attn_norm");
    add(layer, "router", "router");
    for (int i = 0; i < 3; ++i) // padding and quantising
      add(layer, "experts", "experts");
    for (int i = 0; i < 3; ++i)
      add(layer, "router", "router_top_k");
    for (int i = 0; i < 3; ++i)
      add(layer, "experts", "experts");
    // The experts' all-reduce ends this layer; the norm behind it begins the
    // next.
    for (int i = 0; i < 3; ++i)
      add(layer, "boundary", "experts");
    if (layer + 1 < 36)
      add(layer + 1, "input_norm", "input_norm");
    else
      add(-1, "final_norm", "final_norm");
  }
  for (int i = 0; i < 4; ++i)
    add(-1, "logits", "logits");
  return known;
}
