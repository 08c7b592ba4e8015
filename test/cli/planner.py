#!/usr/bin/env python3
"""The planner's choices on real models: what is known to be true of them, what
it says of them, and what it refuses."""

import csv
import io
import re

from layline_tests import MODELS, Test, read_json

test = Test()


def plan(model, tp, target, *options):
    name = f"{model}-{tp}-{target}-" + "-".join(map(str, options)).replace(":", "_").replace("/", "_")
    out = test.compile(MODELS / f"{model}.json", test.out / name, "--tp", tp, "--target", target,
                       *options)
    return read_json(out / "decisions.json")


def parts(became):
    return became.split(" + ")


# Three kernels (reduce-scatter, norm, all-gather) lose to an in-switch
# all-reduce and a norm at every size on 8 H100; the fused one wins.
decisions = plan("llama-3.1-70b", 8, "h100x8", "--tokens", "64:32768")
for site in decisions["sites"]:
    ops = parts(site["became"])
    if not test.expect(ops == ["reduce_scatter", "add", "norm", "all_gather"]
                       or (site["site"] == "embedding"
                           and ops == ["reduce_scatter", "norm", "all_gather"]),
                       f"H100 TP 8, {site['site']}: fused from 64 tokens on", site["became"]):
        break
for price in decisions["prices"]:
    test.expect(price["unfused_us"] > price["today_us"] > price["chosen_us"],
                f"H100 TP 8 at {price['tokens']} tokens: unfused > today > fused",
                (price["unfused_us"], price["today_us"], price["chosen_us"]))
    for site, entry in price["sites"].items():
        if not test.expect(entry["chosen_us"] <= entry["today_us"], f"{site}: no dearer than today",
                           entry):
            break
    # Fusing changes launches, not collectives: two in place of one all-reduce.
    test.expect(price["phases"] == 2 * price["phases_today"]
                and price["launches"] == price["phases_today"] < price["launches_today"],
                "collectives and launches are counted apart", price["launches"])

# The band in which vLLM optimises nothing has a plan, by rows.
decisions = plan("llama-3.1-70b", 8, "h100x8", "--tokens", "33:4095")
covered = [v["tokens"] for v in decisions["variants"]]
test.expect(covered[0][0] == 33 and covered[-1][1] == 4095
            and all(a[1] + 1 == b[0] for a, b in zip(covered, covered[1:])),
            "33..4095 tokens are covered", covered)
test.expect(decisions["variants"][-1]["by_rows"] == 161 and covered[-1][0] <= 64,
            "by rows from 64 tokens at the latest", decisions["variants"])

# DeepSeek-V3: 2112 columns are gathered in place of 7168.
decisions = plan("deepseek-v3", 8, "h200x8", "--tokens", "4096:4096", "--boundaries", "auto")
narrow = [g for g in decisions["gathers"] if re.match(r"layer\.3\.", g["value"])
          and g["row_bytes"] < 7168 * 2 and "router" not in g["value"]]
test.expect(sum(g["row_bytes"] for g in narrow) == 2112 * 2,
            "the latents of a layer are gathered: 2112 columns", narrow)
test.expect(all("of the sum's bytes" in g["note"] for g in narrow), "and it says so", narrow)

# What a replicated weight costs is shown and limited.
replicated = {w["weight"]: w for w in decisions["weights"] if w["replicated"]}
for weight in ("q_a_proj", "kv_a_proj", "router"):
    test.expect(weight in replicated and replicated[weight]["bytes_per_rank"] > 0,
                f"every rank holds {weight}", sorted(replicated))
config = MODELS / "llama-3.1-70b.json"
test.refused(test.run("compile", config, "--tp", 8, "--memory-limit", "10GiB", "-o", test.out / "no"),
             "memory limit", 1, "--memory-limit", "found weights of", "expected at most 10737418240",
             "every rank holds all of", "input_norm")
test.refused(test.run("compile", config, "--tp", 8, "--memory-limit", "ten", "-o", test.out / "no"),
             "memory limit of ten", 2, "--memory-limit", "found 'ten'", "80GiB")

# Chains of products whose weights every rank holds: with a limit that has room
# for them they run by rows and owe nothing, at the price that is shown.
whole = plan("qwen3-8b", 8, "h200x8", "--tokens", "4096:8192", "--memory-limit", "20GiB")
split = plan("qwen3-8b", 8, "h200x8", "--tokens", "4096:8192")
tight = plan("qwen3-8b", 8, "h200x8", "--tokens", "4096:8192", "--memory-limit", "3GiB")
decode = plan("qwen3-8b", 8, "h200x8", "--tokens", "1:512", "--memory-limit", "20GiB")
for decisions, taken, why in ((whole, True, "saves up to"), (tight, False, "the limit is"),
                              (decode, False, "more of a step at"),
                              (split, False, "--replicate-weights never")):
    (chain,) = decisions["replication"]
    test.expect(chain["chain"] == "down_proj" and chain["count"] == 36 and chain["taken"] == taken
                and why in chain["reason"], f"MLP weights: {why}", chain)
(chain,) = whole["replication"]
test.expect(chain["bytes_per_rank_whole"] == 8 * chain["bytes_per_rank_split"]
            == 36 * 3 * 4096 * 12288 * 2, "what whole weights take", chain)
test.expect(all(s["whole_us"] < s["split_us"] for s in chain["steps"]), "and save", chain["steps"])
test.expect(not (split["replication"][0]["steps"]), "what is not weighed has no price",
            split["replication"])
names = [{s["site"] for s in d["sites"]} for d in (whole, split)]
test.expect(names[0] == {n for n in names[1] if not n.endswith("down_proj")},
            "the chain's sums are gone, the others stay", sorted(names[1] - names[0])[:3])
test.expect(any(w["weight"] == "down_proj" and w["replicated"] for w in whole["weights"])
            and not any(w["weight"] == "down_proj" and w["replicated"] for w in split["weights"]),
            "weights are listed as they are held")
# The plain program stays the baseline: the chain's products in parts, and its sum.
for a, b in zip(whole["prices"], split["prices"]):
    products = b["products_us"] - a["products_us"]
    test.expect(a["phases_today"] == b["phases_today"]
                and 0 < a["today_us"] - b["today_us"] - products < 0.02 * a["today_us"],
                f"baseline at {a['tokens']} tokens", (a["today_us"], b["today_us"], products))
small = MODELS / "qwen3-8b.json"
said = test.run("compile", small, "--tp", 8, "--target", "h200x8", "--tokens", "4096:8192",
                "--explain", "layer.0.down_proj", "--at", "6000", "-o", test.out / "said").stdout
test.expect(re.search(r"not taken: --replicate-weights never.*\n.*\n.*6000 tokens", said, re.S),
            "an explained site says what whole weights would save", said[-600:])
test.refused(test.run("compile", small, "--tp", 8, "--replicate-weights", "o_proj", "-o",
                      test.out / "no"),
             "no chain", 2, "--replicate-weights: found 'o_proj'", "some of down_proj")
test.refused(test.run("compile", small, "--tp", 8, "--memory-limit", "3GiB", "--replicate-weights",
                      "all", "-o", test.out / "no"),
             "whole weights against the limit", 1, "found weights of 11560904704 bytes",
             "with weights split that need not be whole it would be 2048223232")

# Phases: what is not said follows from them.
decode = plan("llama-3.1-70b", 8, "h100x8", "--phase", "decode")
prefill = plan("llama-3.1-70b", 8, "h100x8", "--phase", "prefill")
test.expect(decode["variants"][-1]["tokens"][1] == 512
            and prefill["variants"][-1]["tokens"][1] == 32768, "token ranges of the phases",
            (decode["variants"], prefill["variants"]))
test.expect(prefill["prices"][0]["today_us"] > decode["prices"][0]["today_us"],
            "kernels launched one by one take longer at one token",
            (prefill["prices"][0]["today_us"], decode["prices"][0]["today_us"]))

# --explain: every alternative, the best first, the chosen one marked.
run = test.run("compile", config, "--tp", 8, "--target", "h100x8", "--explain", "layer.7.o_proj",
               "--explain", "layer.7.post_attn_norm", "--at", "1024,4", "-o", test.out / "explain")
test.expect(run.status == 0, "--explain", run)
for tokens in (1024, 4):
    head = f"layer.7.o_proj at {tokens} tokens, 8 ranks"
    block = run.stdout.partition(head)[2].partition("layer.7.o_proj at")[0]
    totals = [float(t) for t in re.findall(r"^ +([0-9.]+) .*kernel ", block, re.M)]
    test.expect(len(totals) >= 4 and totals == sorted(totals), f"{tokens}: alternatives by cost",
                totals)
    test.expect(block.count("* ") >= 1 and "best" in block, f"{tokens}: the chosen one is marked",
                block[:600])
test.expect("layer.7.post_attn_norm at 1024 tokens: made by rows, 16384 bytes a row, gathered"
            in run.stdout and "read whole by linear layer.7.gate_proj" in run.stdout,
            "a value's readers", run.stdout[-1500:])
test.refused(test.run("compile", config, "--tp", 8, "--explain", "layer.7.o_prj", "-o",
                      test.out / "no"),
             "--explain of a typo", 2, "--explain", "found 'layer.7.o_prj'", "o_proj")

# A kernel that the target does not have is not used, and the report says so.
kernels = test.out / "none.json"
kernels.write_text('{"schema": "layline.capabilities", "version": 1, "target": "h100x8", '
                   '"multicast": true, "kernels": []}')
bare = plan("llama-3.1-70b", 8, "h100x8", "--kernels", kernels, "--tokens", "1024:1024")
test.expect(all(s["became"] in ("all_reduce", "all_reduce + add + norm") or s["status"] == "missed"
                for s in bare["sites"]), "without fused kernels the all-reduces stay",
            bare["sites"][1]["became"])

# sweep
configs = [MODELS / f"{m}.json" for m in ("qwen3-30b-a3b", "llama-3.1-70b", "deepseek-v3")]
texts = []
for threads in (1, 2):
    out = test.out / f"sweep{threads}.csv"
    run = test.run("sweep", *configs, "--tp", "1,3,8,16", "--target", "h100x8,b200x8", "--tokens",
                   "1,1024", "--memory-limit", "200GB", "--csv", out, "--threads", threads)
    test.expect(run.status == 0, f"sweep on {threads} threads", run)
    texts.append(out.read_text())
test.expect(texts[0] == texts[1], "the same rows with any number of threads")
rows = list(csv.DictReader(io.StringIO(texts[0])))
test.expect(len(rows) == 3 * 4 * 2 * 2, "a row for every model, card, ranks and count", len(rows))
for row in rows:
    if row["tp"] == "16":
        test.expect("span nodes of 8" in row["refusal"], "16 ranks on nodes of 8", row)
    elif row["tp"] == "1" and "deepseek" in row["config"]:
        test.expect("the limit is" in row["refusal"], "671B do not fit on one rank", row)
    elif not row["refusal"]:
        test.expect(float(row["chosen_us"]) <= float(row["today_us"]) + 0.01,
                    "chosen is no dearer than today", row)
shown = [float(x) for x in re.findall(r" ([0-9.]+) %", run.stdout)]
test.expect("saved" in run.stdout and len(shown) > 3, "a sorted table", run.stdout[:800])
test.refused(test.run("sweep", configs[0], "--target", "h300"), "sweep on an unknown card", 2,
             "h300", "expected")
test.refused(test.run("sweep", configs[0], "--tp", "0"), "sweep on no ranks", 2, "--tp", "found 0")
bad = test.out / "bad.json"
bad.write_text('{"model_type": "llama"')
run = test.run("sweep", bad, configs[0], "--tp", "2", "--tokens", "64")
test.expect(run.status == 0 and "refused" in run.stdout and "bad.json" in run.stdout,
            "a broken config is one refusal among the others", run)
# Rows dispatched to their experts: two collectives in place of a sum and what
# gathers the rows before it; never where few rows make a launch dear.
decisions = plan("qwen3-235b-a22b", 8, "b200x8", "--tokens", "1:32768", "--ep", 8)
became = {v["tokens"][0]: [s["became"] for s in decisions["sites"]
                           if s["variant"] == v["id"] and "experts" in s["site"]]
          for v in decisions["variants"]}
first, last = became[min(became)], became[max(became)]
test.expect(first and not any("dispatch" in b for b in first), "few rows are gathered", first[:1])
test.expect(last and all(b == "dispatch + combine" for b in last), "many rows are dispatched",
            last[:1])
for price in decisions["prices"]:
    test.expect(price["chosen_us"] <= price["unfused_us"] + 1e-3,
                f"--ep 8 at {price['tokens']} tokens: fusing costs nothing", price)
# Asked for either way, the other one is not taken.
for how, there in (("gathered", False), ("dispatched", True)):
    sites = plan("qwen3-30b-a3b", 8, "h200x8", "--tokens", "4096:4096", "--ep", 8, "--experts",
                 how)["sites"]
    test.expect(any(s["became"] == "dispatch + combine" for s in sites) == there,
                f"--experts {how}", sorted({s["became"] for s in sites}))
run = test.run("compile", MODELS / "qwen3-30b-a3b.json", "-o", test.out / "explain", "--tp", 8,
               "--ep", 8, "--target", "h200x8", "--tokens", "4096", "--explain", "layer.1.experts")
test.expect(run.status == 0 and re.search(r"dispatch \+ combine  \(formula: .*uniform routing", run.stdout),
            "--explain of experts has both ways", run)

test.finish("planner")
