// The modes that are planned, on models that have them.
#ifndef LAYLINE_TEST_UNIT_KVPROOFS_MODES_H
#define LAYLINE_TEST_UNIT_KVPROOFS_MODES_H

#include "../kv/KVModels.h"

namespace layline::kv {

struct Mode {
  const char *name;
  Model model;
  const char *from, *to;
  SenderRule senders = SenderRule::All;
  bool isCompat = true; ///< the profile has it
  /// What the compat profile sends, too.
  bool isCompatOnce = true;
};

inline std::vector<Mode> getModes() {
  const Model qwen = makeHeads("qwen3-30b-a3b", 48, 4);
  const Model large = makeHeads("qwen3-235b", 94, 4);
  const Model latent = makeLatents("deepseek-v3", 61, {});
  const Model sparse = makeLatents("deepseek-v3.2", 61, countLayers(61));
  std::vector<std::int64_t> indexed = {0, 1, 2};
  for (std::int64_t layer = 6; layer <= 74; layer += 4)
    indexed.push_back(layer);
  const Model glm = makeLatents("glm-5.2", 78, indexed);
  Model window = makeHeads("window", 48, 8);
  window.window = 4096;
  window.windowLayers.clear();
  window.kvLayers.clear();
  for (std::int64_t layer = 0; layer < 48; ++layer)
    (layer % 2 ? window.kvLayers : window.windowLayers).push_back(layer);
  Model hybrid = makeHeads("hybrid", 48, 4);
  hybrid.states = {{"conv", 24576, 1, countLayers(48)},
                   {"ssm", 1 << 20, 32, countLayers(48)}};
  using Rule = SenderRule;
  return {
      {"equal tp", qwen, "tp4", "tp4"},
      {"tp 1 to 4", qwen, "tp1", "tp4"},
      {"tp 4 to 1", qwen, "tp4", "tp1"},
      {"tp 8 to 2, replicas at the source", qwen, "tp8", "tp2", Rule::All, true,
       false},
      {"tp 2 to 8, replicas at the target", qwen, "tp2", "tp8"},
      {"cp 4, all by pages of the request", qwen, "tp1,cp4", "tp4"},
      {"cp 4, all by pages of the chunk", qwen, "tp1,cp4", "tp4",
       Rule::ByChunk},
      {"cp 4, rank 0", qwen, "tp1,cp4", "tp4", Rule::First},
      {"cp 4, by room", qwen, "tp1,cp4", "tp4", Rule::Room},
      {"latents to every rank", latent, "tp4", "tp8"},
      {"latents from cp 8", latent, "tp1,cp8", "tp8"},
      {"latents and index from cp 8", sparse, "tp1,cp8,fp8", "tp8,fp8"},
      {"owners of layers", sparse, "tp1,cp8,layersplit,interleave,fp8",
       "tp8,fp8"},
      {"owners of layers, index layers by list", glm,
       "tp1,cp8,layersplit,interleave,fp8", "tp8,fp8"},
      {"stages to stages", large, "tp4,pp2", "tp4,pp2"},
      {"uneven stages to one", large, "tp4,pp32+31+31", "tp4"},
      {"uneven stages to others", large, "tp4,pp32+31+31", "tp2,pp47+47",
       Rule::All, false},
      {"tp to dcp 8", latent, "tp8", "tp8,dcp8"},
      {"dcp 8 to itself", latent, "tp8,dcp8", "tp8,dcp8", Rule::All, true,
       false}, // a page may hold tokens of two chunks
      {"dcp 8 to dcp 4 with other runs", latent, "tp8,dcp8:2", "tp4,dcp4:16",
       Rule::All, false},
      {"latents and index to dcp 8", sparse, "tp8,fp8", "tp8,dcp8,fp8"},
      {"pages over cp", qwen, "tp1,cp4,pagesplit", "tp4"},
      {"pages over tp", latent, "tp4,pagesplit", "tp4"},
      {"page numbers over cp", qwen, "tp1,cp4,pagenumber", "tp4"},
      {"page numbers over tp", latent, "tp4,pagenumber", "tp4"},
      {"page numbers over cp to dcp 8", latent, "tp8,cp4,pagenumber",
       "tp8,dcp8", Rule::All, false},
      {"pages over cp to dcp 8, by pages of the chunk", latent,
       "tp8,cp4,page2,pagesplit", "tp8,page2,dcp8", Rule::ByChunk, false},
      {"each cp rank its zigzag tokens", qwen, "tp1,cp4,cpstore", "tp4",
       Rule::All, false},
      {"each cp rank its contiguous tokens", qwen, "tp1,cp4,cpstore,contiguous",
       "tp4,page16", Rule::All, false},
      {"window", window, "tp4", "tp8"},
      {"window of cp 4", window, "tp2,cp4", "tp2"},
      {"states", hybrid, "tp4", "tp4"},
      {"states between tp", hybrid, "tp4", "tp2,page16", Rule::All, false},
      {"pages of other sizes, heads in front", qwen, "tp1,page16,hnd",
       "tp4,page64", Rule::All, false},
      {"94 layers, 128 ranks", large, "tp16,cp8", "tp64,pp2", Rule::All, false},
      {"128 ranks to 128", sparse, "tp16,cp8,fp8", "tp16,cp8,fp8", Rule::All,
       false},
  };
}

} // namespace layline::kv

#endif // LAYLINE_TEST_UNIT_KVPROOFS_MODES_H
