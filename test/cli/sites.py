#!/usr/bin/env python3
"""Boundaries of Qwen3-235B-A22B: how many, which are by rows, bytes on the wire.

The closed forms are those of include/layline/Cost/WireBytes.h, worked out here
rank by rank: an all-reduce is a reduce-scatter and an all-gather.
"""

from fractions import Fraction

from layline_tests import MODELS, Test, read_json

test = Test()
P = 8
CONFIG = MODELS / "qwen3-235b-a22b.json"
LAYERS = read_json(CONFIG)["num_hidden_layers"]
ROW = read_json(CONFIG)["hidden_size"] * 2  # bf16
SITES = 1 + 2 * LAYERS  # the embedding, o_proj and experts of each layer


def parts(tokens):
    return [tokens // P + (rank < tokens % P) for rank in range(P)]


def ring(tokens):
    """Bytes of the rank that sends most: everyone else's part, then its own to all."""
    return max((tokens - part) + (P - 1) * part for part in parts(tokens)) * ROW


def switch(tokens):
    return max(tokens + part for part in parts(tokens)) * ROW


def evaluate(expr, ranges, tokens, rank):
    if isinstance(expr, int):
        return expr
    if isinstance(expr, str):
        return {"tokens": tokens, "rank.tp": rank}[expr]
    op, *args = expr
    if op in ("size", "begin"):
        return evaluate(ranges[args[0]]["segments"][0][op], ranges, tokens, rank)
    values = [evaluate(a, ranges, tokens, rank) for a in args]
    result = values[0]
    for value in values[1:]:
        result = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b,
                  "mul": lambda a, b: a * b, "floordiv": lambda a, b: a // b,
                  "ceildiv": lambda a, b: -(-a // b), "mod": lambda a, b: a % b,
                  "min": min, "max": max}[op](result, value)
    return result


def check(tokens, boundaries, expected):
    """expected: sites by rows of each variant, in order of tokens."""
    out = test.compile(CONFIG, test.out / f"{tokens.replace(':', '-')}-{boundaries}",
                       "--tp", P, "--target", "h200x8", "--tokens", tokens,
                       "--boundaries", boundaries)
    decisions, plan = read_json(out / "decisions.json"), read_json(out / "plan.json")
    found = [v["by_rows"] for v in decisions["variants"]]
    test.expect(found == expected, f"--tokens {tokens}: variants by rows",
                f"{found}, not {expected}")
    least, most = map(int, tokens.split(":"))
    begins = [least] + [v["tokens"][1] + 1 for v in decisions["variants"]]
    test.expect([v["tokens"][0] for v in decisions["variants"]] + [most + 1] == begins,
                f"--tokens {tokens}: variants follow each other", begins)
    ranges = {r["id"]: r for r in plan["ranges"]}
    for variant, in_plan in zip(decisions["variants"], plan["variants"]):
        last, rows = variant["tokens"][1], variant["by_rows"]
        sites = [s for s in decisions["sites"] if s["variant"] == variant["id"]]
        name = f"--tokens {tokens}, {variant['id']}"
        test.expect(len(sites) == variant["sites"] == SITES == 189, f"{name}: 189 sites",
                    len(sites))
        applied = sum(s["status"] == "applied" for s in sites)
        test.expect(applied == rows, f"{name}: {rows} applied", applied)
        numbers = {"ring_before": ring(last), "ring_after": ring(last),
                   "switch_before": switch(last), "switch_after": switch(last)}
        bad = [s["site"] for s in sites if s["bytes_at_most_tokens"] != numbers]
        test.expect(not bad, f"{name}: bytes are {numbers}", bad[:3])
        test.expect([s["id"] for s in in_plan["sites"]] == [s["site"] for s in sites],
                    f"{name}: plan.json has the same sites")
        # The plan's own expressions, on every rank and at several counts.
        site = in_plan["sites"][1]
        for count in {variant["tokens"][0], last, (variant["tokens"][0] + last) // 2}:
            for rank, part in enumerate(parts(count)):
                want = {"ring": ((count - part) + (P - 1) * part) * ROW,
                        "switch": (count + part) * ROW}
                for when in ("before", "after"):
                    got = {form: evaluate(site["bytes"][when][form], ranges, count, rank)
                           for form in want}
                    test.expect(got == want, f"{name}: {when}, rank {rank}, {count} tokens",
                                f"{got}, not {want}")
        became = {tuple(s["became"]) for s in in_plan["sites"]}
        test.expect(any("reduce_scatter" in b for b in became) == bool(rows)
                    and any("all_reduce" in b for b in became) == (not rows),
                    f"{name}: what sites became", became)


check("1:8192", "whole:64,rows", [0, 189])
check("1:8192", "whole", [0])
check("1:8192", "rows", [189])
check("1:1001", "rows", [189])
check("1:7", "rows", [189])  # ranks without a row

# With equal parts, 2 (P - 1) / P and 1 + 1 / P of the tensor.
test.expect(ring(8192) == Fraction(2 * (P - 1), P) * 8192 * ROW, "ring, equal parts")
test.expect(switch(8192) == (1 + Fraction(1, P)) * 8192 * ROW, "switch, equal parts")
test.finish("sites of Qwen3-235B-A22B")
