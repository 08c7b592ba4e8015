#!/usr/bin/env python3
"""The same config gives the same bytes: again, from elsewhere, from any path."""

import shutil

from layline_tests import GOLDEN, MODELS, Test, snapshot

test = Test()
FILES = {"plan.json", "decisions.json"}
cases = [(GOLDEN / "qwen3_moe" / "config.json", ["--tp", 3, "--target", "cpu", "--tokens", "1:64"]),
         (GOLDEN / "phi3" / "config.json", ["--tp", 8, "--no-fuse", "--tokens", "1:64"]),
         (MODELS / "qwen3-30b-a3b.json", ["--tp", 8, "--target", "b200x8"])]
for number, (config, arguments) in enumerate(cases):
    out = test.out / str(number)
    first = snapshot(test.compile(config, out / "first", *arguments))
    test.expect(set(first) == FILES, "plan.json and decisions.json are written", set(first))

    again = snapshot(test.compile(config, out / "again", *arguments))
    test.expect(again == first, f"{config.name}: a second time", "bytes differ")
    over = snapshot(test.compile(config, out / "again", *arguments))
    test.expect(over == first, f"{config.name}: over an earlier plan", "bytes differ")

    # A copy under a relative path, from another folder.
    elsewhere = out / "else" / "where"
    elsewhere.mkdir(parents=True)
    shutil.copy(config, elsewhere / config.name)
    run = test.run("compile", f"where/{config.name}", "-o", "plan", *arguments,
                   cwd=elsewhere.parent)
    test.expect(run.status == 0, f"{config.name}: from another folder", run)
    moved = snapshot(elsewhere.parent / "plan")
    test.expect(moved == first, f"{config.name}: from another folder", "bytes differ")

    # Layline's names hold slashes ("tokens/tp"), but none leads anywhere.
    for name, data in first.items():
        for path in (b'"/', str(config.parent).encode(), b"where/", str(out).encode()):
            test.expect(path not in data, f"{config.name}: {name} holds no path", path)
test.finish("determinism")
