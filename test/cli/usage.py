#!/usr/bin/env python3
"""Help teaches, and a slip on the command line is told from its cure."""

import os
import re

from layline_tests import GOLDEN, Test, snapshot

test = Test()
CONFIG = GOLDEN / "qwen3_moe" / "config.json"
OUT = test.out / "plan"
COMMANDS = ["compile", "verify", "run", "inspect", "coverage", "calibrate", "report"]

for command in [[], *([c] for c in COMMANDS)]:
    for flag in ("--help", "-h"):
        run = test.run(*command, flag)
        test.expect(run.status == 0 and "Example" in run.stdout and "layline" in run.stdout
                    and not run.stderr, f"{' '.join(command)} {flag}", run)
overview = test.run("--help").stdout
for word in [*COMMANDS, "Exit codes: 0", "1 refused", "2 bad usage"]:
    test.expect(word in overview, f"--help says {word!r}", overview)
for option in ["--tp", "--target", "h200x8", "cpu", "--tokens", "MIN:MAX", "--boundaries",
               "rows", "whole", "--even", "--no-fuse", "--dump-ir", "--timing"]:
    test.expect(option in test.run("compile", "--help").stdout, f"compile --help says {option}")
version = test.run("--version")
test.expect(version.status == 0 and version.stdout.strip(), "--version", version)


def wrong(arguments, *words):
    run = test.run(*arguments)
    test.refused(run, "layline " + " ".join(map(str, arguments)), 2, *words)
    test.expect(not OUT.exists(), f"{arguments} writes nothing")


def compile_with(*arguments):
    return ["compile", CONFIG, "-o", OUT, *arguments]


wrong([])
# All that the help lists, in its order.
listed = re.findall(r"^  (\w+) ", overview[overview.index("Subcommands:"):].split("\n\n")[0], re.M)
test.expect(set(COMMANDS) < set(listed), "--help lists the commands", listed)
wrong(["compil", CONFIG], "found 'compil'",
      f"expected {', '.join(listed[:-1])} or {listed[-1]}\n")
wrong(["Compile"], "found 'Compile'", "expected")
wrong(["--bogus"], "bogus")
wrong(["compile"], "CONFIG", "required")
wrong(["compile", CONFIG], "--output", "required")
wrong(compile_with("--bogus"), "--bogus")
wrong(compile_with("another"), "another")
for tp in ("x", "1.5", "", "0x"):
    wrong(compile_with("--tp", tp), "--tp", f"found '{tp}'", "expected a whole number")
for tp in ("0", "-8", "4097"):
    wrong(compile_with("--tp", tp), "--tp", f"found {tp}", "expected 1 to")
wrong(compile_with("--tp", "99999999999999999999"), "--tp", "found", "expected")
wrong(compile_with("--target", "h300"), "--target", "'h300'", "expected", "h200x8", "cpu")
for tokens in ("5:1", "0:1", "-1:8", "1:99999999999999999999"):
    wrong(compile_with("--tokens", tokens), "--tokens", "found", "expected MIN:MAX")
for tokens in ("abc", "1:", ":8", "1:2:3", "1-8", "1:8x", ""):
    wrong(compile_with("--tokens", tokens), "--tokens", f"'{tokens}'", "expected MIN:MAX")
for boundaries in ("foo", "Rows", ""):
    wrong(compile_with("--boundaries", boundaries), "--boundaries", "found", "auto, rows, whole")

# Inputs that are not there, or are no files.
wrong(["compile", test.out / "none.json", "-o", OUT], "none.json", "cannot be read")
wrong(["compile", GOLDEN / "llama", "-o", OUT], "llama", "cannot be read")
wrong(["compile", "", "-o", OUT], "CONFIG")
for command, operand in (("verify", "PATH"), ("inspect", "DIR")):
    wrong([command], operand, "required")
    wrong([command, test.out / "none"], "none", "cannot be read")
    (test.out / "empty").mkdir(exist_ok=True)
    wrong([command, test.out / "empty"], "plan.json", "cannot be read")

# Places that cannot be written to.
(test.out / "file").write_text("in the way")
for out in (test.out / "file", test.out / "file" / "deeper", "", "/proc/none"):
    run = test.run("compile", CONFIG, "-o", out)
    test.refused(run, f"-o {out}", 2, str(out))
test.expect((test.out / "file").read_text() == "in the way", "a file in the way stays")
for name in ("plan.json", "decisions.json"):
    (test.out / f"blocked-{name}" / name / "x").mkdir(parents=True)
    run = test.run("compile", CONFIG, "-o", test.out / f"blocked-{name}")
    test.refused(run, f"a folder in the place of {name}", 2, name)
    test.expect(snapshot(test.out / f"blocked-{name}") == {}, f"a folder in the place of {name}:"
                " nothing half written", os.listdir(test.out / f"blocked-{name}"))
if os.path.exists("/dev/full"):
    (test.out / "full").mkdir()
    os.symlink("/dev/full", test.out / "full" / "plan.json.part")
    run = test.run("compile", CONFIG, "-o", test.out / "full")
    test.refused(run, "a full disk", 2, "plan.json", "cannot be written")

# Experts are shared out over all ranks of --tp or none; a model without any
# has none to share out.
DENSE, MOE = GOLDEN / "llama" / "config.json", CONFIG
for tp, ep, expected in ((4, 2, "expected 1 or 4"), (1, 2, "expected 1"), (2, 4, "expected 1 or 2"),
                         (4, 0, "expected 1 or 4")):
    test.refused(test.run("compile", MOE, "-o", OUT, "--tp", tp, "--ep", ep), f"--tp {tp} --ep {ep}",
                 2, f"--ep: found {ep} with --tp {tp}, {expected}")
test.refused(test.run("compile", DENSE, "-o", OUT, "--tp", 4, "--ep", 4), "--ep of a dense model",
             1, "config.json", "expert parallelism over 4 ranks, but the program has no experts")
test.refused(test.run("compile", MOE, "-o", OUT, "--tp", 3, "--ep", 3, "--even"), "--ep 3 --even", 1,
             "3 ranks cannot hold equal parts of 8 experts", "1, 2, 4, 8")
test.refused(test.run("compile", MOE, "-o", OUT, "--tp", 4, "--ep", 4, "--experts", "sent"),
             "--experts sent", 2, "--experts: found 'sent'", "gathered", "dispatched")
test.refused(test.run("compile", MOE, "-o", OUT, "--tp", 4, "--experts", "dispatched"),
             "--experts dispatched", 2, "without --ep")
test.refused(test.run("compile", MOE, "-o", OUT, "--tp", 4, "--ep", 4, "--experts", "dispatched",
                      "--boundaries", "whole"), "dispatched and whole", 1, "stays as it was placed")

# --even refuses parts that differ, and names the sizes that divide.
for tp in (3, 5, 16):
    run = test.run(*compile_with("--even", "--tp", tp))
    test.refused(run, f"--even --tp {tp}", 1, "config.json", f"{tp} ranks", "1, 2, 4, 8")
    test.expect(not OUT.exists(), f"--even --tp {tp} writes nothing")
for tp in (1, 2, 4, 8):
    test.compile(CONFIG, test.out / f"even-{tp}", "--even", "--tp", tp)
test.finish("usage")
