#!/usr/bin/env python3
"""All public configurations against what is known of their structure.

Each is compiled and proved with the template of _STRUCTURE.json, and heads that
do not divide are found by --even as its `tp` says; or it is refused by what it
has that is not supported yet. The outcomes are the table of docs/models.md.
"""

from layline_tests import MODELS, ROOT, Test, each, read_json

test = Test()
# Known model types that nothing reads yet: the words of their refusal. Of the
# others only the name is said.
REASONS = {
    "deepseek_v4": "hyper-connections", "gemma4": "two normed MLP branches",
    "hunyuan_v1_moe": "q/k norms after RoPE",
    "kimi_k3": "residuals taken by attention", "llama4": "experts' input",
    "minimax_m1": "linear attention", "minimax_m3": "sparse attention",
    "ministral3": "scaled by their position", "nemotron-nas": "layers without attention or MLP",
    "nemotron_h": "state-space layers", "qwen3_5": "linear attention",
    "qwen3_next": "linear attention"}
UNREAD = []
SIZES = [1, 2, 4, 8, 16]
STRUCTURE = read_json(MODELS / "_STRUCTURE.json")


def expected_template(name):
    """The one word of _STRUCTURE.json, where it says on what key it depends."""
    config, template = read_json(MODELS / f"{name}.json"), STRUCTURE[name]["template"]
    if config["model_type"] == "gpt_neox":
        return "parallel_two_norm" if config.get("use_parallel_residual", True) else "pre_norm"
    if config["model_type"] == "stablelm":
        return "parallel_one_norm" if config.get("use_parallel_residual") else "pre_norm"
    return template.split(" ")[0]


def is_even(said):
    return not ("not divisible" in said or "neither" in said)


def check_even(config, tp, said):
    """Whether heads divide: the same as the table. Other sizes may not either."""
    run = test.run("compile", config, "--tp", tp, "--target", "cpu", "--tokens", "1:64",
                   "--even", "-o", test.out / f"{config.stem}-even{tp}")
    heads = [word for word in ("heads", "KV heads") if f" {word};" in run.stderr]
    test.expect((run.status == 0 or not heads) == is_even(said),
                f"{config.stem}: heads on {tp} ranks: {said}", run)


def compile_config(config):
    """(number of plans made of it, row of the table)"""
    name, family = config.stem, read_json(config)["model_type"]
    out = test.out / name
    run = test.run("compile", config, "--tp", 8, "-o", out)
    if run.status != 0:
        reason = REASONS.get(family)
        test.refused(run, f"{name} is refused", 1, config.name, "model_type", f'"{family}"',
                     "not supported: " if reason else "expected one of", reason or "")
        test.expect(reason or family in UNREAD, f"{name} may be refused", run)
        test.expect(not out.exists(), f"{name} writes nothing")
        why = run.stderr.split("not supported: ")[-1].split("; expected one of")[0]
        return 0, [name, family, "refused", why.strip() if reason else "model type not read yet"]
    test.expect(family not in REASONS and family not in UNREAD, f"{name} is read", family)
    template = read_json(out / "decisions.json")["template"]
    test.expect(template == expected_template(name), f"{name}: template", template)
    test.expect(f"{family} ({template}), " in run.stdout, f"{name}: the summary says so", run)
    for tp in SIZES:
        # Cards of 8 are one node; 16 ranks run on the CPU.
        target = "h200x8" if tp <= 8 else "cpu"
        plan = test.compile(config, test.out / f"{name}-tp{tp}", "--tp", tp,
                            "--target", target, "--tokens", "1:8192")
        run = test.run("verify", plan)
        test.expect(run.status == 0 and "good" in run.stdout, f"verify {plan.name}", run)
        if said := STRUCTURE[name]["tp"].get(str(tp)):
            check_even(config, tp, said)
    uneven = [tp for tp, said in STRUCTURE[name]["tp"].items() if not is_even(said)]
    return len(SIZES), [name, family, template,
                        f"uneven heads at TP {', '.join(uneven)}" if uneven else ""]


def table(rows):
    lines = ["| model | `model_type` | template | |", "|---|---|---|---|"]
    return "\n".join(lines + [f"| {n} | `{f}` | {t} | {w} |" for n, f, t, w in rows]) + "\n"


configs = sorted(MODELS.glob("[!_]*.json"))
outcomes = each(compile_config, configs)
for _, row in outcomes:
    print("{:28} {:16} {:22} {}".format(*row))
test.expect(set(STRUCTURE) == {c.stem for c in configs}, "every config has its structure")
# To update the page, copy the file that this writes.
found = table([row for _, row in outcomes])
(test.out / "models.md").write_text(found)
page = (ROOT / "docs" / "models.md").read_text()
test.expect(found in page, "docs/models.md has these outcomes", test.out / "models.md")
plans = [count for count, _ in outcomes]
test.finish(f"{sum(plans)} plans compiled and verified, {plans.count(0)} configs refused")
