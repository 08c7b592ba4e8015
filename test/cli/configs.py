#!/usr/bin/env python3
"""All public configurations: compiled and proved, or refused by their name."""

from layline_tests import MODELS, Test, each, read_json

test = Test()
FAMILIES = ["llama", "mistral", "mixtral", "phi3", "qwen2", "qwen3", "qwen3_moe"]
SIZES = [1, 2, 4, 8, 16]


def compile_config(config):
    """The number of plans made of it."""
    family = read_json(config)["model_type"]
    if family not in FAMILIES:
        out = test.out / config.stem
        run = test.run("compile", config, "--tp", 8, "-o", out)
        test.refused(run, f"{config.stem} is refused", 1, config.name, "model_type",
                     f'"{family}"', ", ".join(FAMILIES))
        test.expect(not out.exists(), f"{config.stem} writes nothing")
        print(f"{config.stem:28} {family:16} refused")
        return 0
    for tp in SIZES:
        # Cards of 8 are one node; 16 ranks run on the CPU.
        target = "h200x8" if tp <= 8 else "cpu"
        out = test.compile(config, test.out / f"{config.stem}-tp{tp}", "--tp", tp,
                           "--target", target, "--tokens", "1:8192")
        run = test.run("verify", out)
        test.expect(run.status == 0 and "good" in run.stdout, f"verify {out.name}", run)
    print(f"{config.stem:28} {family:16} compiled, verified at {SIZES}")
    return len(SIZES)


configs = sorted(MODELS.glob("[!_]*.json"))
plans = each(compile_config, configs)
refused = plans.count(0)
test.expect((len(configs), refused) == (45, 32), "45 configs, 32 refused",
            f"{len(configs)} configs, {refused} refused")
test.finish(f"{sum(plans)} plans compiled and verified, {refused} configs refused")
