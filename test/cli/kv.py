#!/usr/bin/env python3
"""Migrations of KV caches: planned, proved, counted, explained, simulated, refused."""

import json

from layline_tests import MODELS, Test

test = Test()
QWEN = MODELS / "qwen3-30b-a3b.json"
V32 = MODELS / "deepseek-v3.2.json"


def kv(command, model, source, target, tokens, *rest):
    return test.run("kv", command, "--model", model, "--from", source, "--to", target,
                    "--tokens", tokens, *rest)


def planned(words, *arguments):
    run = kv("plan", *arguments)
    text = " ".join(run.stdout.split())
    missing = [w for w in words if w not in text]
    test.expect(run.status == 0 and not run.stderr and not missing, f"kv plan {arguments}",
                f"expected the words {missing}; {run}")
    return run.stdout


# The case that everyone writes by hand.
file = test.out / "kv.json"
planned(["0 -> 0 and 15 alike 96 98,304 256 98,304 96 - 25,165,824",
         "all 16 1,536 1,572,864 256", "largest batch: 1,024 descriptors, 262,144 bytes",
         "blocks of 256 bytes, 1,024 apart (target 256): strided, never one copy",
         # Computed, kept, sent: three maps.
         "1 0 1 0 1,024 [512,1024)+[3072,3584) 4,096 [0,4096) 0-47 [1024,2048) 100.7 MB",
         "target 0-3: source 0-3", "proved: every byte of every target is written exactly once"],
        QWEN, "tp1,cp4", "tp4", 4096, "--profile", "sglang-compat", "-o", file)
plan = json.loads(file.read_text())
test.expect(plan["format"] == "layline-kv" and plan["profile"] == "sglang-compat",
            "the file says what it is", str(list(plan)))
planned(["0 -> 0 and 15 alike 1 96 262,144 384 96 25.2 MB 25,165,824"],
        QWEN, "tp1,cp4", "tp4", 4096)
planned(["0 -> 0 and 3 alike 96 393,216 256", "busiest source over the mean: 4.00"],
        QWEN, "tp1,cp4", "tp4", 4096, "--profile", "sglang-compat", "--senders", "cp0")

# Where one element is from.
planned(["Target rank 2, layer 5, token 1500, head 2:",
         "k: from source rank 1, page 23 slot 28 (byte 29184 of the page), to page 23 slot 28",
         "packed into a slot at the source",
         "ready, with the rest of the request, when all 8 reports of 4 responders have come "
         "(counted by sender, naming the request, sent when arrived; failure sticky):",
         "source rank 3 as pp0.dp0.cp3.tp0: 2 of main, auxiliary"],
        QWEN, "tp1,cp4", "tp4", 4096, "--explain", 2, 5, 1500, 2)
planned(["nothing writes it: the target has the token already"],
        QWEN, "tp1,cp4", "tp4", 4096, "--prefix", 2048, "--explain", 2, 5, 1500, 2)
planned(["nothing writes it: the rank does not keep it"],
        QWEN, "tp1,cp4", "tp4", 4096, "--explain", 2, 5, 1500, 1)

# Owners of layers, latents and their index.
planned(["the index is 20.1 %", "6.78 times the tokens", "B_i + max(0, B_k - I)",
         "0 -> 0 and 4 alike 1 16"],
        V32, "cp8,fp8,layersplit,interleave", "fp8", 4096)

# Whole pages are as far apart as the tables say, which is nothing about the layout.
text = planned(["all 64 64 62,464 41,088"],
               V32, "tp1,cp8,layersplit", "tp8", 4096, "--pages", "fragmented")
test.expect("apart" not in text and ",-" not in text and "-," not in text,
            "pages of fragmented tables are not strided", text)

# 4,096 tokens at 100 GB/s: 132 bytes and 656 bytes a token; 26.9 - 20 and 5.4 us.
planned(["layers 0-60: B_i 5.4 us, B_k 26.9 us, exposed 12.3 us", "exposed in all 0.75 ms"],
        V32, "cp8,fp8,layersplit,interleave", "fp8", 4096, "--broadcast-gigabytes-per-s", 100,
        "--indexer-us", 20)
# 384 descriptors of 0.5 us, 4 batches of 10 us, 100.7 MB at 50 GB/s of each source.
planned(["yours: 2.2 ms (0.5 us a descriptor, 10.0 us a batch, 50.00 GB/s; as given)"],
        QWEN, "tp1,cp4", "tp4", 4096, "--gigabytes-per-s", 50, "--descriptor-us", 0.5, "--batch-us", 10)

# The file alone is proved too; one that was changed is not.
run_good = run = test.run("kv", "verify", file)
test.expect(run.status == 0 and "proved: every byte" in run.stdout, "kv verify", str(run))
changed = json.loads(file.read_text())
moves = next(t for t in changed["transfers"] if t["source"] == 1 and t["target"] == 0)["moves"]
moves[0]["share"]["index"] = 0
broken = test.out / "broken.json"
broken.write_text(json.dumps(changed))
run = test.run("kv", "verify", broken)
test.refused(run, "a share that two ranks send", 1, "refuted", "target rank 0")
# Readiness and lifetimes are proved with it.
test.expect("a request is ready when each responder, by a key of its own, has reported all" in run_good.stdout
            and "16 responders, 32 reports; a failure stays" in run_good.stdout
            and "2 kinds of buffers are pinned" in run_good.stdout, "kv verify: completion", str(run_good))
for path, value, words in [
        (("readiness", "failure"), "until_next_report", ["readiness.failure", "'sticky' is expected"]),
        (("readiness", "keys", 3), "pp0.dp0.cp0.tp0", ["readiness.keys[3]", "source rank 0 too"]),
        (("lifetimes", 1, "after_failure"), "failed", ["lifetimes[1].after_failure", "target_pages 'kv'"]),
        (("digests", "target", 2, 0), "0" * 64, ["digests.target[2][0]", "pages of buffer 'k'"])]:
    changed = json.loads(file.read_text())
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    broken.write_text(json.dumps(changed))
    test.refused(test.run("kv", "verify", broken), f"{path[0]} changed", 1, *words)
broken.write_text(file.read_text()[:2000])
test.refused(test.run("kv", "verify", broken), "a cut file", 2, "broken.json")
test.refused(test.run("kv", "verify", test.out / "none.json"), "no file", 2, "none.json")

# The same in IR, which its own verifiers take.
ir = test.out / "kv.mlir"
planned(["proved"], QWEN, "tp1,cp4", "tp4", 4096, "--emit-ir", ir)
test.expect("kv.migrate" in ir.read_text() and "kv.pool" in ir.read_text(), "kv plan --emit-ir",
            ir.read_text()[:300])

# Bytes in memory, and messages that are lost.
run = kv("simulate", QWEN, "tp1,cp4", "tp4", 70, "--chunk", 40)
test.expect(run.status == 0 and "every byte of 4 target ranks is right" in run.stdout
            and ", 0 of them more than once" in run.stdout, "kv simulate", str(run))
run = kv("simulate", QWEN, "tp1,cp4", "tp4", 300, "--faults", "all")
test.expect(run.status == 0 and "no request was ready with a byte missing" in run.stdout
            and ", 0 neither" in run.stdout, "kv simulate --faults", str(run))

# Pages that cp ranks keep by the numbers of an allocator; tables behind a prefix.
planned(["2 0 2 0 1,024 [1024,1536)+[2560,3072) - pages 2 mod 4 0-47 of these",
         "proved: source: every page number has one owner of 4",
         "proved: every byte of every target is written exactly once"],
        QWEN, "tp1,cp4,pagenumber", "tp4", 4096, "-o", file)
test.expect(json.loads(file.read_text())["features"][-1] == "page_number",
            "a plan by page numbers names the feature", file)
run = test.run("kv", "verify", file)
test.expect(run.status == 0 and "one owner of 4" in run.stdout, "kv verify, page numbers",
            str(run))
for target in ("tp4,page16", "tp2,dcp2,page8"):
    run = kv("simulate", QWEN, "tp1,cp4,page16,pagenumber", target, 70, "--chunk", 32,
             "--prefix", 32, "--omit-prefix-pages")
    test.expect(run.status == 0 and "target ranks is right" in run.stdout
                and ", 0 of them more than once" in run.stdout,
                f"kv simulate, page numbers to {target}", str(run))

# Refused, with the reason, and nothing written.
REFUSED = [
    (QWEN, "tp3", "tp4", [], 1, ["tp3", "4 heads", "3 ranks"]),
    (QWEN, "tp4,page64", "tp2,page32", ["--profile", "sglang-compat"], 1, ["pages of 64 and of 32"]),
    (QWEN, "tp4,bf16", "tp2,fp8", [], 1, ["bf16", "fp8", "never converted"]),
    (QWEN, "tp4", "tp4,cp2", ["--profile", "sglang-compat"], 1, ["target cp 2"]),
    (QWEN, "tp4,pagenumber", "tp4", [], 1, ["pagenumber with cpN is expected"]),
    (QWEN, "cp2,pagenumber,pagesplit", "tp4", [], 2, ["'pagesplit'", "a second time"]),
    (V32, "cp8,layersplit", "tp8", ["--profile", "sglang-compat"], 1, ["interleave is expected"]),
    (V32, "cp8,layersplit,interleave", "tp8", ["--senders", "chunk"], 1, ["1/8 of them"]),
    (QWEN, "tp4,tp2", "tp4", [], 2, ["'tp2'", "second time"]),
    (QWEN, "tp0", "tp4", [], 2, ["'tp0'", "1 to 4096"]),
    (QWEN, "", "tp4", [], 2, ["''", "is not known"]),
    (QWEN, "tp4,pp40+7", "tp4", [], 2, ["47", "48"]),
    (QWEN, "tp99999999999999999999", "tp4", [], 2, ["99999999999999999999"]),
    (QWEN, "tp4,dcp3", "tp4", [], 2, ["dcp 3", "tp 4"]),
    (test.out / "none.json", "tp4", "tp4", [], 2, ["none.json"]),
    (MODELS / "qwen3-next-80b-a3b.json", "tp4", "tp4", [], 1, ["linear attention"]),
    (QWEN, "tp4", "tp4", ["--prefix", 9000], 2, ["--prefix", "9000", "4096"]),
    (QWEN, "tp4", "tp4", ["--slot-bytes", "lots"], 2, ["--slot-bytes", "lots"]),
    (QWEN, "tp1", "tp4", ["--slot-bytes", "100"], 2, ["blocks of 256 bytes", "slot of 100"]),
    (QWEN, "tp1", "tp4", ["--slot-lanes", 0], 2, ["--slot-lanes", "1 to 4096"]),
    (QWEN, "tp4", "tp4", ["--explain", 9, 0, 0, 0], 2, ["rank 9", "0 to 3"]),
]
for model, source, target, rest, status, words in REFUSED:
    unwritten = test.out / "unwritten.json"
    run = kv("plan", model, source, target, 4096, *rest, "-o", unwritten)
    test.refused(run, f"{source} -> {target} {rest}", status, *words)
    test.expect(not unwritten.exists(), "a refused plan is not written", str(run))
test.refused(test.run("kv"), "no command", 2)
test.refused(kv("simulate", QWEN, "tp4", "tp4", 64, "--faults", "fire"), "an unknown fault", 2,
             "'fire'", "free-early")

# A shape of one's own.
shape = test.out / "shape.json"
shape.write_text(json.dumps({"name": "hybrid", "layers": 4, "dtype": "bf16", "kv_heads": 2,
                             "head_dim": 64, "kv_layers": [3], "states": [
                                 {"name": "ssm", "bytes": 4096, "heads": 4, "layers": [0, 1, 2]}]}))
planned(["ssm: 3 layers, 4 heads of 1024 bytes (u8) per request", "proved"],
        shape, "tp1", "tp2", 100)
shape.write_text('{"name": "x", "layers": 4, "dtype": "bf16", "kv_heads": 2, "head_dims": 64}')
test.refused(kv("plan", shape, "tp1", "tp2", 100), "a shape with a typo", 2, "head_dims",
             "head_dim")

test.finish("KV migrations")
