#!/usr/bin/env python3
"""A config.json that ends too early, at every byte position.

No prefix may be taken for a config, crash the tool or leave anything written.
"""

import json

from layline_tests import GOLDEN, Test, each

test = Test()
text = (GOLDEN / "qwen3_moe" / "config.json").read_bytes()


def is_whole(prefix):
    try:
        json.loads(prefix)
        return True
    except ValueError:
        return False


def cut(position):
    name = f"cut-{position}.json"
    config, out = test.out / name, test.out / f"plan-{position}"
    config.write_bytes(text[:position])
    run = test.run("compile", config, "--tp", 4, "--tokens", "1:64", "-o", out)
    if is_whole(text[:position]):
        test.expect(text[position:].strip() == b"" and run.status == 0,
                    f"cut at {position}, where only white space is lost", run)
        return
    test.refused(run, f"cut at {position}", 2, name)
    test.expect(not out.exists(), f"cut at {position} writes nothing", run)
    config.unlink()


each(cut, range(len(text) + 1))
test.finish(f"{len(text) + 1} cuts of a config.json")
