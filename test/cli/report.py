#!/usr/bin/env python3
"""layline report: the page's numbers, and what is refused. Needs no browser.

What the page says is compared with plan.json, proof.json and what `layline trace
map --json` says of the same recording.
"""

import gzip
import json
import os
import re

from layline_tests import MODELS, ROOT, Test, read_json, snapshot

test = Test()
B200 = ROOT / "test" / "traces" / "b200_tp8_vllm_gptoss120b_prefill888.json.gz"
GPT_OSS = ("--model", MODELS / "gpt-oss-120b.json", "--tp", 8, "--target", "b200x8")


def numbers_of(path):
    """The page's numbers; checks that a browser finds the same."""
    text = path.read_text()
    begin = text.index('<script type="application/json" id="numbers">')
    inner = text[text.index(">", begin) + 1:]
    inner = inner[:inner.index("</script")]
    test.expect(not set(inner) & set("<>&"), f"{path.name}: no markup inside of the numbers")
    test.expect(text.count("</script") == 2 and text.count("<script") == 2,
                f"{path.name}: two scripts")
    test.expect(not re.search(r"""(src|href)\s*=\s*["']?(https?:|//)|@import|url\(""", text),
                f"{path.name}: nothing is fetched")
    return json.loads(inner)


def page(what, name, *arguments):
    out = test.out / name
    run = test.run("report", *arguments, "-o", out)
    test.expect(run.status == 0, f"report of {what}", run)
    return numbers_of(out)


# A stack of 94 layers: kinds, sites, memory, proofs.
plan_dir = test.compile(MODELS / "qwen3-235b-a22b.json", test.out / "qwen3", "--tp", 8,
                        "--target", "h200x8", "--tokens", "1:8192")
shown = page("a plan", "qwen3.html", plan_dir)
plan, proof, decisions = (read_json(plan_dir / f"{n}.json") for n in ("plan", "proof", "decisions"))
test.expect([(v["id"], v["min"], v["max"]) for v in shown["variants"]]
            == [(v["id"], v["tokens"]["min"], v["tokens"]["max"]) for v in plan["variants"]],
            "variants")
for own, variant in zip(shown["variants"], plan["variants"]):
    test.expect(own["applied"] == sum(s["status"] == "applied" for s in variant["sites"])
                and own["sites"] == len(variant["sites"]), f"{own['id']}: sites")
    # Every layer, written out of its kind, is what the plan has.
    told = {"steps": [], "sites": []}
    parts = [(-1, own["outside"])] + [(n, own["kinds"][k]) for n, k in own["layers"]]
    for layer, kind in parts:
        def place(text):
            found = re.match(r"@([+-]\d+)?\.(.*)", text)
            return f"layer.{layer + int(found[1] or 0)}.{found[2]}" if found else text
        told["steps"] += [(s["kind"], place(s["place"]),
                           tuple((k, place(p)) for k, p in s.get("body", []))) for s in kind["steps"]]
        told["sites"] += [(place(s["site"]), s["applied"], s["reason"], tuple(s["became"]))
                          for s in kind["sites"]]
    want = {"steps": [(s["kind"], s["loc"], tuple((b["kind"], b["loc"]) for b in s.get("body", [])))
                      for s in variant["steps"]],
            "sites": [(s["id"], s["status"] == "applied", s["reason"], tuple(s["became"]))
                      for s in variant["sites"]]}
    for what in want:
        test.expect(sorted(told[what]) == sorted(want[what]), f"{own['id']}: {what} of all layers",
                    sorted(set(told[what]) ^ set(want[what]))[:2])
    test.expect(len(own["kinds"]) <= 4, f"{own['id']}: equal layers are one kind", len(own["kinds"]))
    prices = [p for p in decisions["prices"] if p["variant"] == own["id"]]
    test.expect([(p["tokens"], p["today"], p["unfused"], p["chosen"]) for p in own["points"]]
                == [(p["tokens"], p["today_us"], p["unfused_us"], p["chosen_us"]) for p in prices],
                f"{own['id']}: prices")
    # By ring, 2 (P - 1) / P of the value; a switch reads it whole and takes a part.
    for layer, kind in parts:
        for site in kind["sites"]:
            for point, sent in zip(own["points"], site["bytes"]):
                part = -(-point["tokens"] // 8)
                whole = point["tokens"] * 4096 * 2
                ring, _, switch, _ = sent
                test.expect(ring == whole + 6 * part * 8192 and switch == whole + part * 8192,
                            f"{own['id']}: bytes of {site['site']} at {point['tokens']}", sent)
    values = [v for _, kind in parts for v in kind["values"]]
    owed = [v for v in values if v["owes"]]
    test.expect(owed and all(v["op"] in ("linear", "experts", "embedding") for v in owed),
                f"{own['id']}: products owe sums")
    test.expect(all(v["read_by"] for v in values if v["memory"] != "input"),
                f"{own['id']}: every value has a reader",
                [v for v in values if not v["read_by"]][:1])
test.expect(shown["memory"]["weight_bytes"] == sum(w["bytes_per_rank"] for w in plan["weights"]),
            "bytes of weights")
# 94 layers of keys and values: of 4 KV heads a rank reads one, of 128 elements of 2 bytes.
test.expect(shown["memory"]["cache_bytes_per_token"] == 94 * 2 * 128 * 2 + 8, "bytes of caches",
            shown["memory"]["cache_bytes_per_token"])
test.expect(shown["proof"]["digest"] == proof["digest"]
            and [(p["name"], p["holds"]) for p in shown["proof"]["proofs"]]
            == [(p["name"], p["holds"]) for p in proof["proofs"]], "proofs")
test.expect(shown["run"] is None and shown["left_out"] == [], "nothing was run, nothing left out")

# Equal inputs, equal bytes: how long proofs took is not among them.
small, again = (test.compile(MODELS / "llama-3.1-8b.json", test.out / name, "--tp", 4,
                             "--target", "h200x8", "--tokens", "1:8192")
                for name in ("llama", "again"))
page("a small plan", "llama.html", small)
page("the same plan", "again.html", again)
test.expect((test.out / "llama.html").read_bytes() == (test.out / "again.html").read_bytes(),
            "the same bytes again")
# The file of a plan is as good as its folder; without the files beside it the page says so.
alone = test.out / "alone"
alone.mkdir()
(alone / "plan.json").write_bytes((small / "plan.json").read_bytes())
bare = page("plan.json alone", "alone.html", alone / "plan.json")
test.expect(bare["proof"] is None and not bare["has_decisions"]
            and "today" not in bare["variants"][0]["points"][0], "no decisions, no proof")

# A name that would end the script, open a comment, or is no text.
tidy = snapshot(small)
edited = read_json(small / "plan.json")
NAME = "a</script><script>alert(1)</script><!--&amp;\"'{{script}}{{numbers}}\u2028\u00e9.json"
edited["source"]["config"] = NAME
(small / "plan.json").write_text(json.dumps(edited))
named = page("a name with markup", "markup.html", small)
test.expect(named["plan"]["config"] == NAME, "the name comes through", named["plan"]["config"])
title = re.search("<title>(.*?)</title>", (test.out / "markup.html").read_text())[1]
test.expect("<" not in title and "&lt;/script&gt;" in title, "the title is escaped", title)

# A run: the same as layline trace map says.
run = page("a run", "run.html", B200, *GPT_OSS)
ran = run["run"]
mapped = test.run("trace", "map", B200, *GPT_OSS, "--json", "-")
device, = json.loads(mapped.stdout)["devices"]
kernels = device["kernels"]
events = [e for layer in ran["timeline"]["layers"] for e in layer["events"]]
test.expect(len(events) == len(kernels) == 929 and sum(e["ns"] for e in events) == device["busy_ns"],
            "all events are in the timeline", len(events))
test.expect([e.get("place") for e in sorted(events, key=lambda e: e["at"])]
            == [k.get("place") for k in sorted(kernels, key=lambda k: k["start_ns"])],
            "places of the timeline")
modules = {}
for k in kernels:
    modules[k["module"]] = modules.get(k["module"], 0) + k["ns"]
test.expect({m["module"]: m["ns"] for m in ran["modules"]} == modules, "time by module")
first = ran["collectives"][0]
test.expect(first["place"] == "embedding" and first["wait"] + first["transfer"] == 223200
            and 24000 < first["transfer"] < 26000, "waiting apart from moving", first)
test.expect(sum(c["padding"] for c in ran["collectives"])
            == sum(c["padding_bytes"] for c in device["collectives"]) > 0, "padding")
test.expect(run["left_out"] == [], "nothing is left out of 929 events", run["left_out"])
whole_size = (test.out / "run.html").stat().st_size

# What the planner would make of it, and what that would save: as layline trace budget says.
choice = test.compile(MODELS / "gpt-oss-120b.json", test.out / "choice", "--tp", 8, "--target",
                      "b200x8", "--tokens", "1:8192")
budgeted = test.run("trace", "budget", B200, *GPT_OSS, "--what-if", choice, "--json", "-")
told, = json.loads(budgeted.stdout)["passes"]
own, = run["budget"]["passes"]
test.expect([(line["line"], line["measured"], line["gain"][0]) for line in own["lines"]]
            == [(name, line["measured"], line["gain"]["us"]) for name, line in told["lines"].items()],
            "lines of the budget")
test.expect(abs(sum(b["gain"][0] for b in own["boundaries"]) - own["gain"][0]) < 0.05
            and sum(b["count"] for b in own["boundaries"]) == len(told["boundaries"]),
            "boundaries of the budget")
test.expect("today" in run["variants"][0]["points"][0], "the planner's prices are shown")

# The plan that could run beside the run that did.
oss = test.compile(MODELS / "gpt-oss-120b.json", test.out / "oss", "--tp", 8, "--target", "b200x8",
                   "--boundaries", "rows")
both = page("a plan beside a run", "both.html", oss, "--trace", B200, *GPT_OSS)
test.expect(both["variants"][-1]["applied"] > 0 and both["run"]["modules"] == ran["modules"]
            and "gpt-oss-120b.json at TP 8" in both["run"]["onto"], "rows shown, run as it was",
            both["run"]["onto"])
test.expect(both["budget"]["passes"][0]["bound"]["changing"] > 0, "its budget")

# Six passes: sums of all, events of one, and a page of nearly the same size.
trace = json.loads(gzip.open(B200).read())
span = max(e["ts"] for e in trace["traceEvents"]) - min(e["ts"] for e in trace["traceEvents"]) + 1e4
trace["traceEvents"] = [{**e, "ts": e["ts"] + i * span} for i in range(6)
                        for e in trace["traceEvents"]
                        if e["cat"] in ("kernel", "gpu_memcpy", "gpu_memset", "user_annotation",
                                        "gpu_user_annotation")]
(test.out / "six.json").write_text(json.dumps(trace))
six = page("six passes", "six.html", test.out / "six.json", *GPT_OSS)
test.expect(sum(m["ns"] for m in six["run"]["modules"]) == 6 * device["busy_ns"],
            "sums are of all passes")
test.expect(any("929 of 5574 events" in line for line in six["left_out"]), "what is left out",
            six["left_out"])
test.expect((test.out / "six.html").stat().st_size < whole_size + 20000, "the page stays small",
            (test.out / "six.html").stat().st_size)


# What is refused leaves nothing behind, nor changes what was there.
def refused(what, status, words, *arguments, output=None):
    out = test.out / "refused"
    out.mkdir(exist_ok=True)
    kept = out / "kept.html"
    kept.write_text("as before")
    before = snapshot(out)
    run = test.run("report", *arguments, "-o", output or kept)
    test.refused(run, what, status, *words)
    test.expect(snapshot(out) == before and not run.stdout, f"{what}: no output", run.stdout)


def changed(name, file, change):
    """The folder of a plan with one of its files changed."""
    folder = test.out / name
    folder.mkdir()
    for each, data in tidy.items():
        text = data.decode()
        (folder / each).write_text(change(text) if each == file else text)
    return folder


def edit(path, value):
    """Sets the member at `path`."""
    def change(text):
        document = json.loads(text)
        inner = document
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
        return json.dumps(document)
    return change


refused("unknown folder", 2, ["nowhere"], test.out / "nowhere")
refused("folder without a plan", 2, ["plan.json"], test.out)
refused("cut plan", 2, ["plan.json", "parse error"],
        changed("cut", "plan.json", lambda text: text[:len(text) // 2]))
refused("contradictory plan", 1, ["plan.json", "steps[3].args.input"],
        changed("order", "plan.json", edit(("variants", 0, "steps", 3, "args", "input"), "b900")))
refused("cut decisions", 2, ["decisions.json"],
        changed("cut2", "decisions.json", lambda text: text[:-100]))
refused("other decisions", 1, ["decisions.json", "another plan"],
        changed("other", "decisions.json", edit(("variants", 0, "tokens"), [1, 7])))
refused("text for a price", 2, ["decisions.json", "prices[2].chosen_us", "number"],
        changed("price", "decisions.json", edit(("prices", 2, "chosen_us"), "cheap")))
refused("another plan's proof", 1, ["proof.json", "digest", "another plan"],
        changed("proof", "proof.json", edit(("digest",), "sha256:00")))
refused("a proof that says nothing", 2, ["proof.json", "proofs[1].holds"],
        changed("proof2", "proof.json", edit(("proofs", 1, "holds"), "perhaps")))
refused("another model's run", 1, ["another model's or layout's run"], B200, "--model",
        MODELS / "command-r-35b.json", "--tp", 8)
refused("no recording", 2, ["--model"], *GPT_OSS)
refused("no plan", 2, ["--model"], B200)
refused("two plans", 2, ["expected one"], again, oss)
refused("no such recording", 2, ["none.json"], again, "--trace", test.out / "none.json")
refused("output in a file", 2, ["kept.html"], again,
        output=test.out / "refused" / "kept.html" / "report.html")
refused("output is a folder", 2, ["refused"], again, output=test.out / "refused")
if os.geteuid() != 0:
    closed = test.out / "closed"
    closed.mkdir(mode=0o500)
    refused("output not writable", 2, ["closed"], again, output=closed / "report.html")
test.refused(test.run("report", again), "no output named", 2, "--output")
test.finish("reports")
