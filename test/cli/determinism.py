#!/usr/bin/env python3
"""The same config gives the same bytes: again, from elsewhere, from any path. Of
proof.json all but the times, which its digest leaves out too."""

import re
import shutil

from layline_tests import GOLDEN, MODELS, Test, snapshot

test = Test()
FILES = {"plan.json", "decisions.json", "proof.json"}


def written(folder):
    """{name: bytes} without the times."""
    files = snapshot(folder)
    text = files.get("proof.json", b"")
    files["proof.json"], count = re.subn(rb'"ms":[0-9.e+-]+', b'"ms":0', text)
    test.expect(count == text.count(b'"name"') > 0, "proof.json: a time for each proof", text)
    digest = re.search(rb'"digest": "(sha256:[0-9a-f]{64})"', text)
    test.expect(digest and digest.group(1) in files.get("plan.json", b""),
                "plan.json carries the digest of proof.json", text[:200])
    return files


cases = [(GOLDEN / "qwen3_moe" / "config.json", ["--tp", 3, "--target", "cpu", "--tokens", "1:64"]),
         (GOLDEN / "phi3" / "config.json", ["--tp", 8, "--no-fuse", "--tokens", "1:64"]),
         (MODELS / "qwen3-30b-a3b.json", ["--tp", 8, "--target", "b200x8"])]
for number, (config, arguments) in enumerate(cases):
    out = test.out / str(number)
    first = written(test.compile(config, out / "first", *arguments))
    test.expect(set(first) == FILES, "plan.json, decisions.json and proof.json are written", set(first))

    again = written(test.compile(config, out / "again", *arguments))
    test.expect(again == first, f"{config.name}: a second time", "bytes differ")
    over = written(test.compile(config, out / "again", *arguments))
    test.expect(over == first, f"{config.name}: over an earlier plan", "bytes differ")

    # A copy under a relative path, from another folder.
    elsewhere = out / "else" / "where"
    elsewhere.mkdir(parents=True)
    shutil.copy(config, elsewhere / config.name)
    run = test.run("compile", f"where/{config.name}", "-o", "plan", *arguments,
                   cwd=elsewhere.parent)
    test.expect(run.status == 0, f"{config.name}: from another folder", run)
    moved = written(elsewhere.parent / "plan")
    test.expect(moved == first, f"{config.name}: from another folder", "bytes differ")

    # Layline's names hold slashes ("tokens/tp"), but none leads anywhere.
    for name, data in first.items():
        for path in (b'"/', str(config.parent).encode(), b"where/", str(out).encode()):
            test.expect(path not in data, f"{config.name}: {name} holds no path", path)
test.finish("determinism")
