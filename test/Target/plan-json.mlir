// RUN: layline-opt %s -layline-lower | layline-translate -launch-to-plan-json | FileCheck %s
// RUN: layline-opt %s -layline-lower -o %t.mlir
// RUN: layline-translate -launch-to-plan-json %t.mlir -o %t.1.json
// RUN: layline-translate -launch-to-plan-json %t.mlir -o %t.2.json
// RUN: cmp %t.1.json %t.2.json

// One layer of a llama (8 query heads, 2 KV heads of 16, 64 features, 128
// words), planned for two ranks: by rows from 8 tokens on, whole below.

#h = #grid.layout<[_, _]>
#rows = #grid.layout<[block "tp", _]>
#owed = #grid.layout<[_, _] owes "tp">
#heads = #grid.layout<[_, block "tp" x 16]>
#kv = #grid.layout<[_, readers(8) "tp" x 16]>
#cols = #grid.layout<[_, block "tp"]>
#cube = #grid.layout<[_, block "tp", _]>
#kvcube = #grid.layout<[_, readers(8) "tp", _]>
#table = #decoder.rope_table<[1.0, 0.1, 0.01, 0.001, 0.0001, 0.00001, 0.000001, 0.0000001], factor 1.0>

// CHECK:      {
// CHECK-NEXT:   "schema": "layline.launch_plan",
// CHECK-NEXT:   "version": {"major": 1, "minor": 2},
// CHECK-NEXT:   "requires": ["kv_cache", "fused_steps"],
// CHECK-NEXT:   "producer": {"tool": "layline", "version": "{{[0-9.]+}}"},
// CHECK-NEXT:   "source": {"config": "config.json", "digest": "sha256:ab", "model_type": "llama", "layers": 1},
// CHECK-NEXT:   "target": {"name": "h200x8", "dtype": "bf16"},
// CHECK-NEXT:   "symbols": [
// CHECK-NEXT:     {"name": "tokens", "min": 1, "max": 64},
// CHECK-NEXT:     {"name": "past", "min": 0, "max": 511}
// CHECK-NEXT:   ],
// CHECK-NEXT:   "mesh": [{"axis": "tp", "size": 2}],
// CHECK-NEXT:   "groups": [
// CHECK-NEXT:     {"id": "tp", "axes": ["tp"], "ranks": 2}
// CHECK-NEXT:   ],
// CHECK-NEXT:   "ranges": [
// CHECK-NEXT:     {"id": "n128/tp", "axis": "tp", "extent": 128, "kind": "block", "segments": [{"begin": ["mul", "rank.tp", 64], "size": 64}]},
// CHECK-DAG:      {"id": "tokens/tp", "axis": "tp", "extent": "tokens", "kind": "block", "segments": [{"begin": ["add", ["mul", "rank.tp", ["floordiv", "tokens", 2]], ["min", "rank.tp", ["mod", "tokens", 2]]], "size": ["floordiv", ["add", "tokens", ["sub", 1, "rank.tp"]], 2]}]}
// CHECK-DAG:      {"id": "n8/tp", "axis": "tp", "extent": 8, "kind": "block", "segments": [{"begin": ["mul", "rank.tp", 4], "size": 4}]}
// CHECK-DAG:      {"id": "kv2of8/tp", "axis": "tp", "extent": 2, "kind": "readers", "of": 8, "segments": [{"begin": "rank.tp", "size": 1}]}
// CHECK:        "inputs": [
// CHECK-NEXT:     {"id": "input_ids", "dtype": "i64", "shape": ["tokens"]},
// CHECK-NEXT:     {"id": "positions", "dtype": "i64", "shape": ["tokens"]}
// CHECK-NEXT:   ],
// CHECK-NEXT:   "caches": [
// CHECK-NEXT:     {"id": "positions", "layer": -1, "plane": "positions", "dtype": "i64", "row_shape": [], "layout": {"dims": [null]}},
// CHECK-NEXT:     {"id": "layer.0.key", "layer": 0, "plane": "key", "dtype": "bf16", "row_shape": [2, 16], "layout": {"dims": [null, {"range": "kv2of8/tp", "unit": 1}, null]}},
// CHECK-NEXT:     {"id": "layer.0.value", "layer": 0, "plane": "value", "dtype": "bf16", "row_shape": [2, 16], "layout": {"dims": [null, {"range": "kv2of8/tp", "unit": 1}, null]}}
// CHECK-NEXT:   ],
// CHECK-NEXT:   "tables": [
// CHECK-NEXT:     {"id": "rope.0", "attention_factor": 1.0, "inv_freq": [1.0, 0.1, 0.01, 0.001, 1e-04, 1e-05, 1e-06, 1e-07]}
// CHECK-NEXT:   ],
// Both variants use the same weights: each stands once.
// CHECK-NEXT:   "weights": [
// CHECK-NEXT:     {"id": "w0", "key": "model.embed_tokens.weight", "dtype": "bf16", "stored_shape": [128, 64], "shape": [128, 64], "layout": {"dims": [{"range": "n128/tp", "unit": 1}, null]}, "bytes_per_rank": 8192},
// CHECK-NEXT:     {"id": "w1", "key": "model.layers.0.input_layernorm.weight", "dtype": "bf16", "stored_shape": [64], "shape": [64], "layout": {"dims": [null]}, "bytes_per_rank": 128},
// CHECK-NEXT:     {"id": "w2", "key": "model.layers.0.self_attn.qkv_proj.weight", "dtype": "bf16", "stored_shape": [192, 64], "rows": [0, 128], "shape": [128, 64], "layout": {"dims": [{"range": "n8/tp", "unit": 16}, null]}, "bytes_per_rank": 8192},
// CHECK-NEXT:     {"id": "w3", "key": "model.layers.0.self_attn.qkv_proj.weight", "dtype": "bf16", "stored_shape": [192, 64], "rows": [128, 160], "shape": [32, 64], "layout": {"dims": [{"range": "kv2of8/tp", "unit": 16}, null]}, "bytes_per_rank": 2048},
// CHECK-NEXT:     {"id": "w4", {{.*}} "rows": [160, 192], {{.*}}},
// CHECK-NEXT:     {"id": "w5", "key": "model.layers.0.self_attn.o_proj.weight", {{.*}} "layout": {"dims": [null, {"range": "n8/tp", "unit": 16}]}, "bytes_per_rank": 8192},
// CHECK-NEXT:     {"id": "w6", "key": "model.norm.weight", {{.*}}},
// CHECK-NEXT:     {"id": "w7", "key": "lm_head.weight", {{.*}}}
// CHECK-NEXT:   ],
// CHECK-NEXT:   "flags": [
// CHECK-NEXT:     {"id": "f.tp", "group": "tp", "key": [], "scope": "system", "reset": "epoch"}
// CHECK-NEXT:   ],
// CHECK-NEXT:   "kernels": [
// CHECK-NEXT:     {"id": "k0", "ops": ["reduce_scatter", "add", "norm", "all_gather"], "dtype": "bf16", "group": "tp", "cooperative": true}
// CHECK-NEXT:   ],
// CHECK-NEXT:   "streams": [
// CHECK-NEXT:     {"id": "compute"},
// CHECK-NEXT:     {"id": "comm"}
// CHECK-NEXT:   ],
// CHECK-NEXT:   "variants": [
// CHECK-NEXT:     {"id": "v0", "tokens": {"min": 1, "max": 7}, "boundaries": "whole",
// CHECK-NEXT:       "arenas": [
// CHECK-NEXT:         {"id": "float", "bytes": {{[0-9]+}}, "x-bound": {{[0-9]+}}},
// CHECK-NEXT:         {"id": "int", "bytes": 0, "x-bound": 0},
// CHECK-NEXT:         {"id": "register", "bytes": 0, "x-bound": 0}
// CHECK-NEXT:       ],
// CHECK-NEXT:       "buffers": [
// CHECK-NEXT:         {"id": "b0", "class": "input", "dtype": "i64", "shape": ["tokens"], "layout": {"dims": [null]}, "input": "input_ids"},
// CHECK-NEXT:         {"id": "b1", "class": "input", "dtype": "i64", "shape": ["tokens"], "layout": {"dims": [null]}, "input": "positions"},
// CHECK-NEXT:         {"id": "b2", "class": "symmetric", "dtype": "bf16", "shape": ["tokens", 64], "layout": {"dims": [null, null], "owes": ["tp"]}, "arena": "float", "offset": 0, "bytes": 896, "live": ["s1", "s2"]},
// CHECK:            "steps": [
// CHECK-NEXT:         {"id": "s0", "kind": "cache_append", "stream": "compute", "loc": "positions", "args": {"input": "b1", "cache": "positions"}},
// CHECK-NEXT:         {"id": "s1", "kind": "embedding", "stream": "compute", "names": ["layer.0.input"], "loc": "embedding", "args": {"ids": "b0", "weight": "w0", "output": "b2"}, "signals": ["e0"]},
// CHECK-NEXT:         {"id": "s2", "kind": "all_reduce", "stream": "comm", "loc": "embedding", "args": {"input": "b2", "output": "b3"}, "attrs": {"group": "tp"}, "flag": "f.tp", "after": ["s1"], "waits": ["e0"], "signals": ["e1"]},
// CHECK-NEXT:         {"id": "s3", "kind": "norm", "stream": "compute", "loc": "layer.0.input_norm", "args": {"input": "b3", "weight": "w1", "output": "b4"}, "attrs": {"norm": "rms", "eps": 1e-06, "weight_offset": 0.0}, "after": ["s2"], "waits": ["e1"]},
// CHECK-NEXT:         {"id": "s4", "kind": "linear", "stream": "compute", "args": {"input": "b4", "weight": "w2", "output": "b5"}, "extern": true, "after": ["s3"]},
// CHECK:              {"id": "s7", "kind": "rope", "stream": "compute", "args": {"input": {"buffer": "b5", "shape": ["tokens", 8, 16]}, "positions": "b1", "table": "rope.0", "output": "b8"}, "attrs": {"style": "half", "rotary": 16}, "after": ["s4"]},
// CHECK:              "kind": "cache_append", "stream": "compute", "args": {"input": {"buffer": "b7", "shape": ["tokens", 2, 16]}, "cache": "layer.0.value"}, "after": ["s6"]},
// CHECK-NEXT:         {"id": "s11", "kind": "attention", "stream": "compute", "args": {"query": "b8", "keys": "layer.0.key", "values": "layer.0.value", "positions": "b1", "key_positions": "positions", "output": "b10"}, "attrs": {"scale": 0.25, "causal": true, "heads": 8, "kv_heads": 2}, "extern": true, "after": ["s0", "s7", "s9", "s10"]},
// CHECK-NEXT:         {"id": "s12", "kind": "linear", "stream": "compute", "loc": "layer.0.o_proj", "args": {"input": {"buffer": "b10", "shape": ["tokens", 128]}, "weight": "w5", "output": "b11"}, "extern": true, "after": ["s11"], "signals": ["e2"]},
// CHECK:              {"id": "s17", "kind": "all_gather", "stream": "comm", {{.*}} "attrs": {"group": "tp", "dim": 1, "range": "n128/tp"}, "flag": "f.tp", "after": ["s16"], "waits": ["{{e[0-9]+}}"]}
// CHECK-NEXT:       ],
// CHECK-NEXT:       "outputs": [
// CHECK-NEXT:         {"id": "logits", "buffer": "b16"}
// CHECK-NEXT:       ],
// CHECK-NEXT:       "sites": [
// CHECK-NEXT:         {"id": "layer.0.o_proj", "status": "missed", "was": ["all_reduce"], "became": ["all_reduce"], "step": "s13", "reason": "fewer than 8 tokens", "bytes": {"before": {"ring": ["mul", "tokens", 128], "switch": ["add", ["mul", "tokens", 128], ["mul", ["size", "tokens/tp"], 128]]}, "after": {"ring": ["mul", "tokens", 128], "switch": ["add", ["mul", "tokens", 128], ["mul", ["size", "tokens/tp"], 128]]}}}
// CHECK-NEXT:       ]},
// CHECK-NEXT:     {"id": "v1", "tokens": {"min": 8, "max": 64}, "boundaries": "rows",
// CHECK:              {"id": "{{b[0-9]+}}", "class": "register", {{.*}} "arena": "register", "offset": 0, "bytes": 4096, "live": ["s14", "s14"]},
// CHECK:              {"id": "s14", "kind": "fused", "stream": "compute", "loc": "layer.0.o_proj", "args": {"inputs": ["b12", "b4", "w6"], "outputs": ["b14", "b16"]}, "attrs": {"kernel": "k0"}, "flag": "f.tp", "after": ["s3", "s13"], "body": [
// CHECK-NEXT:           {"id": "s14.0", "kind": "reduce_scatter", "args": {"input": "b12", "output": "b13"}, "attrs": {"group": "tp", "dim": 0, "range": "tokens/tp"}, "flag": "f.tp"},
// CHECK-NEXT:           {"id": "s14.1", "kind": "add", "names": ["layer.0.output"], "args": {"inputs": ["b4", "b13"], "output": "b14"}},
// CHECK-NEXT:           {"id": "s14.2", "kind": "norm", {{.*}}},
// CHECK-NEXT:           {"id": "s14.3", "kind": "all_gather", "args": {"input": "b15", "output": "b16"}, "attrs": {"group": "tp", "dim": 0, "range": "tokens/tp"}, "flag": "f.tp"}
// CHECK-NEXT:         ]},
// The gather of the fused kernel belongs to the site: as many bytes by ring as before.
// CHECK:            "sites": [
// CHECK-NEXT:         {"id": "layer.0.o_proj", "status": "applied", "was": ["all_reduce", "add", "norm"], "became": ["reduce_scatter", "add", "norm", "all_gather"], "step": "s14", "reason": "by rows", "bytes": {"before": {{.*}}, "after": {"ring": ["add", ["sub", ["mul", "tokens", 128], ["mul", ["size", "tokens/tp"], 128]], ["mul", ["size", "tokens/tp"], 128]], "switch": ["add", ["mul", "tokens", 128], ["mul", ["size", "tokens/tp"], 128]]}}}
// CHECK-NEXT:       ]}
// CHECK-NEXT:   ]
// CHECK-NEXT: }

module attributes {
  decoder.source = {config = "config.json", digest = "sha256:ab", model_type = "llama", layers = 1 : i64, max_positions = 512 : i64},
  grid.target = "h200x8"
} {
grid.mesh @mesh ["tp"] = [2]

// The placed program, which planning leaves behind, is no variant.
func.func private @decoder(tensor<?xi64, #grid.layout<[_]>>)

func.func @whole(%ids: tensor<?xi64, #grid.layout<[_]>> {decoder.input = "input_ids"}, %positions: tensor<?xi64, #grid.layout<[_]>> {decoder.input = "positions"}) -> tensor<?x128xbf16, #h>
    attributes {grid.tokens = array<i64: 1, 7>, grid.boundaries = "whole", grid.sites = [{id = "layer.0.o_proj", status = "missed", was = ["all_reduce"], became = ["all_reduce"], reason = "fewer than 8 tokens"}]} {
  %kp = decoder.cache %positions {layer = -1 : si64, plane = #decoder.plane<positions>} : (tensor<?xi64, #grid.layout<[_]>>) -> tensor<?xi64, #grid.layout<[_]>> loc("positions")
  %embed = decoder.weight {key = "model.embed_tokens.weight", stored_shape = array<i64: 128, 64>} : () -> tensor<128x64xbf16, #rows>
  %e = decoder.embedding %ids, %embed {decoder.record = ["layer.0.input"]} : (tensor<?xi64, #grid.layout<[_]>>, tensor<128x64xbf16, #rows>) -> tensor<?x64xbf16, #owed> loc("embedding")
  %r = grid.all_reduce %e over ["tp"] : tensor<?x64xbf16, #owed> -> tensor<?x64xbf16, #h> loc("embedding")
  %wn = decoder.weight {key = "model.layers.0.input_layernorm.weight", stored_shape = array<i64: 64>} : () -> tensor<64xbf16, #grid.layout<[_]>>
  %n = decoder.norm %r, %wn {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x64xbf16, #h>, tensor<64xbf16, #grid.layout<[_]>>) -> tensor<?x64xbf16, #h> loc("layer.0.input_norm")
  %wq = decoder.weight {key = "model.layers.0.self_attn.qkv_proj.weight", stored_shape = array<i64: 192, 64>, rows = array<i64: 0, 128>} : () -> tensor<128x64xbf16, #grid.layout<[block "tp" x 16, _]>>
  %wk = decoder.weight {key = "model.layers.0.self_attn.qkv_proj.weight", stored_shape = array<i64: 192, 64>, rows = array<i64: 128, 160>} : () -> tensor<32x64xbf16, #grid.layout<[readers(8) "tp" x 16, _]>>
  %wv = decoder.weight {key = "model.layers.0.self_attn.qkv_proj.weight", stored_shape = array<i64: 192, 64>, rows = array<i64: 160, 192>} : () -> tensor<32x64xbf16, #grid.layout<[readers(8) "tp" x 16, _]>>
  %q = decoder.linear %n, %wq : (tensor<?x64xbf16, #h>, tensor<128x64xbf16, #grid.layout<[block "tp" x 16, _]>>) -> tensor<?x128xbf16, #heads>
  %k = decoder.linear %n, %wk : (tensor<?x64xbf16, #h>, tensor<32x64xbf16, #grid.layout<[readers(8) "tp" x 16, _]>>) -> tensor<?x32xbf16, #kv>
  %v = decoder.linear %n, %wv : (tensor<?x64xbf16, #h>, tensor<32x64xbf16, #grid.layout<[readers(8) "tp" x 16, _]>>) -> tensor<?x32xbf16, #kv>
  %qh = decoder.split_heads %q : (tensor<?x128xbf16, #heads>) -> tensor<?x8x16xbf16, #cube>
  %kh = decoder.split_heads %k : (tensor<?x32xbf16, #kv>) -> tensor<?x2x16xbf16, #kvcube>
  %vh = decoder.split_heads %v : (tensor<?x32xbf16, #kv>) -> tensor<?x2x16xbf16, #kvcube>
  %qr = decoder.rope %qh, %positions {style = #decoder.rope_style<half>, table = #table} : (tensor<?x8x16xbf16, #cube>, tensor<?xi64, #grid.layout<[_]>>) -> tensor<?x8x16xbf16, #cube>
  %kr = decoder.rope %kh, %positions {style = #decoder.rope_style<half>, table = #table} : (tensor<?x2x16xbf16, #kvcube>, tensor<?xi64, #grid.layout<[_]>>) -> tensor<?x2x16xbf16, #kvcube>
  %keys = decoder.cache %kr {layer = 0 : si64, plane = #decoder.plane<key>} : (tensor<?x2x16xbf16, #kvcube>) -> tensor<?x2x16xbf16, #kvcube>
  %values = decoder.cache %vh {layer = 0 : si64, plane = #decoder.plane<value>} : (tensor<?x2x16xbf16, #kvcube>) -> tensor<?x2x16xbf16, #kvcube>
  %a = decoder.attention %qr, %keys, %values, %positions, %kp {scale = 0.25 : f64, causal = true} : (tensor<?x8x16xbf16, #cube>, tensor<?x2x16xbf16, #kvcube>, tensor<?x2x16xbf16, #kvcube>, tensor<?xi64, #grid.layout<[_]>>, tensor<?xi64, #grid.layout<[_]>>) -> tensor<?x8x16xbf16, #cube>
  %m = decoder.merge_heads %a : (tensor<?x8x16xbf16, #cube>) -> tensor<?x128xbf16, #heads>
  %wo = decoder.weight {key = "model.layers.0.self_attn.o_proj.weight", stored_shape = array<i64: 64, 128>} : () -> tensor<64x128xbf16, #heads>
  %o = decoder.linear %m, %wo : (tensor<?x128xbf16, #heads>, tensor<64x128xbf16, #heads>) -> tensor<?x64xbf16, #owed> loc("layer.0.o_proj")
  %wf = decoder.weight {key = "model.norm.weight", stored_shape = array<i64: 64>} : () -> tensor<64xbf16, #grid.layout<[_]>>
  %s = grid.all_reduce %o over ["tp"] {site = "layer.0.o_proj"} : tensor<?x64xbf16, #owed> -> tensor<?x64xbf16, #h> loc("layer.0.o_proj")
  %x = decoder.add %r, %s {decoder.record = ["layer.0.output"]} : (tensor<?x64xbf16, #h>, tensor<?x64xbf16, #h>) -> tensor<?x64xbf16, #h>
  %f = decoder.norm %x, %wf {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x64xbf16, #h>, tensor<64xbf16, #grid.layout<[_]>>) -> tensor<?x64xbf16, #h>
  %head = decoder.weight {key = "lm_head.weight", stored_shape = array<i64: 128, 64>} : () -> tensor<128x64xbf16, #rows>
  %part = decoder.logits %f, %head : (tensor<?x64xbf16, #h>, tensor<128x64xbf16, #rows>) -> tensor<?x128xbf16, #cols>
  %logits = grid.all_gather %part dim 1 over "tp" : tensor<?x128xbf16, #cols> -> tensor<?x128xbf16, #h>
  return %logits : tensor<?x128xbf16, #h>
}
func.func @rows(%ids: tensor<?xi64, #grid.layout<[_]>> {decoder.input = "input_ids"}, %positions: tensor<?xi64, #grid.layout<[_]>> {decoder.input = "positions"}) -> tensor<?x128xbf16, #h>
    attributes {grid.tokens = array<i64: 8, 64>, grid.boundaries = "rows", grid.sites = [{id = "layer.0.o_proj", status = "applied", was = ["all_reduce", "add", "norm"], became = ["reduce_scatter", "add", "norm", "all_gather"], reason = "by rows"}]} {
  %kp = decoder.cache %positions {layer = -1 : si64, plane = #decoder.plane<positions>} : (tensor<?xi64, #grid.layout<[_]>>) -> tensor<?xi64, #grid.layout<[_]>> loc("positions")
  %embed = decoder.weight {key = "model.embed_tokens.weight", stored_shape = array<i64: 128, 64>} : () -> tensor<128x64xbf16, #rows>
  %e = decoder.embedding %ids, %embed {decoder.record = ["layer.0.input"]} : (tensor<?xi64, #grid.layout<[_]>>, tensor<128x64xbf16, #rows>) -> tensor<?x64xbf16, #owed> loc("embedding")
  %w = grid.all_reduce %e over ["tp"] : tensor<?x64xbf16, #owed> -> tensor<?x64xbf16, #h> loc("embedding")
  %r = grid.slice %w dim 0 over "tp" : tensor<?x64xbf16, #h> -> tensor<?x64xbf16, #rows>
  %wn = decoder.weight {key = "model.layers.0.input_layernorm.weight", stored_shape = array<i64: 64>} : () -> tensor<64xbf16, #grid.layout<[_]>>
  %n = decoder.norm %w, %wn {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x64xbf16, #h>, tensor<64xbf16, #grid.layout<[_]>>) -> tensor<?x64xbf16, #h> loc("layer.0.input_norm")
  %wq = decoder.weight {key = "model.layers.0.self_attn.qkv_proj.weight", stored_shape = array<i64: 192, 64>, rows = array<i64: 0, 128>} : () -> tensor<128x64xbf16, #grid.layout<[block "tp" x 16, _]>>
  %wk = decoder.weight {key = "model.layers.0.self_attn.qkv_proj.weight", stored_shape = array<i64: 192, 64>, rows = array<i64: 128, 160>} : () -> tensor<32x64xbf16, #grid.layout<[readers(8) "tp" x 16, _]>>
  %wv = decoder.weight {key = "model.layers.0.self_attn.qkv_proj.weight", stored_shape = array<i64: 192, 64>, rows = array<i64: 160, 192>} : () -> tensor<32x64xbf16, #grid.layout<[readers(8) "tp" x 16, _]>>
  %q = decoder.linear %n, %wq : (tensor<?x64xbf16, #h>, tensor<128x64xbf16, #grid.layout<[block "tp" x 16, _]>>) -> tensor<?x128xbf16, #heads>
  %k = decoder.linear %n, %wk : (tensor<?x64xbf16, #h>, tensor<32x64xbf16, #grid.layout<[readers(8) "tp" x 16, _]>>) -> tensor<?x32xbf16, #kv>
  %v = decoder.linear %n, %wv : (tensor<?x64xbf16, #h>, tensor<32x64xbf16, #grid.layout<[readers(8) "tp" x 16, _]>>) -> tensor<?x32xbf16, #kv>
  %qh = decoder.split_heads %q : (tensor<?x128xbf16, #heads>) -> tensor<?x8x16xbf16, #cube>
  %kh = decoder.split_heads %k : (tensor<?x32xbf16, #kv>) -> tensor<?x2x16xbf16, #kvcube>
  %vh = decoder.split_heads %v : (tensor<?x32xbf16, #kv>) -> tensor<?x2x16xbf16, #kvcube>
  %qr = decoder.rope %qh, %positions {style = #decoder.rope_style<half>, table = #table} : (tensor<?x8x16xbf16, #cube>, tensor<?xi64, #grid.layout<[_]>>) -> tensor<?x8x16xbf16, #cube>
  %kr = decoder.rope %kh, %positions {style = #decoder.rope_style<half>, table = #table} : (tensor<?x2x16xbf16, #kvcube>, tensor<?xi64, #grid.layout<[_]>>) -> tensor<?x2x16xbf16, #kvcube>
  %keys = decoder.cache %kr {layer = 0 : si64, plane = #decoder.plane<key>} : (tensor<?x2x16xbf16, #kvcube>) -> tensor<?x2x16xbf16, #kvcube>
  %values = decoder.cache %vh {layer = 0 : si64, plane = #decoder.plane<value>} : (tensor<?x2x16xbf16, #kvcube>) -> tensor<?x2x16xbf16, #kvcube>
  %a = decoder.attention %qr, %keys, %values, %positions, %kp {scale = 0.25 : f64, causal = true} : (tensor<?x8x16xbf16, #cube>, tensor<?x2x16xbf16, #kvcube>, tensor<?x2x16xbf16, #kvcube>, tensor<?xi64, #grid.layout<[_]>>, tensor<?xi64, #grid.layout<[_]>>) -> tensor<?x8x16xbf16, #cube>
  %m = decoder.merge_heads %a : (tensor<?x8x16xbf16, #cube>) -> tensor<?x128xbf16, #heads>
  %wo = decoder.weight {key = "model.layers.0.self_attn.o_proj.weight", stored_shape = array<i64: 64, 128>} : () -> tensor<64x128xbf16, #heads>
  %o = decoder.linear %m, %wo : (tensor<?x128xbf16, #heads>, tensor<64x128xbf16, #heads>) -> tensor<?x64xbf16, #owed> loc("layer.0.o_proj")
  %wf = decoder.weight {key = "model.norm.weight", stored_shape = array<i64: 64>} : () -> tensor<64xbf16, #grid.layout<[_]>>
  %f, %x = grid.fused "reduce_scatter+add+norm+all_gather" {
    %s = grid.reduce_scatter %o dim 0 over "tp" {site = "layer.0.o_proj"} : tensor<?x64xbf16, #owed> -> tensor<?x64xbf16, #rows>
    %y = decoder.add %r, %s {decoder.record = ["layer.0.output"]} : (tensor<?x64xbf16, #rows>, tensor<?x64xbf16, #rows>) -> tensor<?x64xbf16, #rows>
    %z = decoder.norm %y, %wf {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64} : (tensor<?x64xbf16, #rows>, tensor<64xbf16, #grid.layout<[_]>>) -> tensor<?x64xbf16, #rows>
    %g = grid.all_gather %z dim 0 over "tp" : tensor<?x64xbf16, #rows> -> tensor<?x64xbf16, #h>
    grid.yield %g, %y : tensor<?x64xbf16, #h>, tensor<?x64xbf16, #rows>
  } : tensor<?x64xbf16, #h>, tensor<?x64xbf16, #rows> loc("layer.0.o_proj")
  %head = decoder.weight {key = "lm_head.weight", stored_shape = array<i64: 128, 64>} : () -> tensor<128x64xbf16, #rows>
  %part = decoder.logits %f, %head : (tensor<?x64xbf16, #h>, tensor<128x64xbf16, #rows>) -> tensor<?x128xbf16, #cols>
  %logits = grid.all_gather %part dim 1 over "tp" : tensor<?x128xbf16, #cols> -> tensor<?x128xbf16, #h>
  return %logits : tensor<?x128xbf16, #h>
}
}
