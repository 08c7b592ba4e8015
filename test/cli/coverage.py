#!/usr/bin/env python3
"""A split of work is proved or refuted, and shown, before any model is there."""

from layline_tests import Test

test = Test()
QWEN = ["--heads", "64: block tp", "--kv-heads", "4: readers tp", "--layers", "94"]


def coverage(*arguments):
    return test.run("coverage", *arguments)


def proved(arguments, *words):
    run = coverage(*arguments)
    missing = [w for w in words if w not in run.stdout]
    test.expect(run.status == 0 and not run.stderr and not missing
                and run.stdout.startswith("proved: each point"),
                f"coverage {arguments}", f"expected the words {missing}; {run}")
    return run.stdout


def refuted(arguments, *words):
    test.refused(coverage(*arguments), f"coverage {arguments}", 1, "refuted: ", *words)


def wrong(arguments, *words):
    run = coverage(*arguments)
    test.refused(run, f"coverage {arguments}", 2, *words)
    test.expect(not run.stdout, f"coverage {arguments} prints no verdict", run.stdout)


proved(["--mesh", "tp=8,cp=4", "--tokens", "zigzag cp", *QWEN], "32 ranks",
       'token: zigzag over "cp", every number', 'head: block over "tp", 64',
       'KV head: readers over "tp", 4', "layer: whole, 94")
proved(["--mesh", "tp=64,cp=64", "--tokens", "zigzag cp", *QWEN], "4096 ranks")
proved(["--mesh", "tp=8,cp=4,dp=2", "--tokens", "zigzag cp then block tp"], "in each of 2 replicas",
       'zigzag over "cp" then block over "tp"', 'axis "dp" splits nothing')
proved(["--mesh", "cp=4", "--tokens", "cyclic 64 cp"], 'cyclic(64) over "cp"')
proved(["--mesh", "cp=3", "--layers", "5: owner cp 0,0,1,1,2"], 'owner over "cp", 5')
proved(["--mesh", "ep=8", "--dim", "expert=128: block ep"], 'expert: block over "ep", 128')
proved(["--mesh", "tp=1", "--tokens", "block tp", *QWEN], "1 ranks")

# One axis cannot split two dimensions, nor one dimension twice.
refuted(["--mesh", "tp=8", "--tokens", "block tp", *QWEN],
        'with T = 1: token 0, head 8 is computed by nobody: token 0 is on rank 0 of "tp", '
        'head 8 on rank 1 of "tp"', "8 of the 64 blocks")
refuted(["--mesh", "cp=2", "--tokens", "zigzag cp then block cp"], "token 1 is computed by nobody")
refuted(["--mesh", "cp=2", "--layers", "3: owner cp 0,2,1"], "item 1 is held by nobody",
        "rank 2 is not there")
refuted(["--mesh", "cp=2", "--layers", "3: owner cp 0,1"], "found 2 owners", "3 items")
refuted(["--mesh", "tp=8", "--heads", "64: block tp", "--kv-heads", "5: readers tp"],
        "found 64 query heads", "multiple of the 5 KV heads")

# Who holds what: rows of a table, by the rank on the axis.
ROWS = {
    ("zigzag cp", 4096): ["0 1024 [0,512)+[3584,4096) 2097664",
                          "1 1024 [512,1024)+[3072,3584) 2097664",
                          "2 1024 [1024,1536)+[2560,3072) 2097664",
                          "3 1024 [1536,2560) 2097664"],
    ("block cp", 4096): ["0 1024 [0,1024) 524800", "1 1024 [1024,2048) 1573376",
                         "2 1024 [2048,3072) 2621952", "3 1024 [3072,4096) 3670528"],
    ("zigzag cp", 4099): ["0 1025 [0,513)+[3587,4099)", "1 1025 [513,1026)+[3075,3587)",
                          "2 1025 [1026,1539)+[2563,3075)", "3 1024 [1539,2563)"],
    ("zigzag cp", 4103): ["0 1025", "1 1026", "2 1026", "3 1026"],
    ("zigzag cp", 9): ["0 3 [0,2)+[8,9)", "1 2 [2,3)+[7,8)", "2 2 [3,4)+[6,7)", "3 2 [4,6)"],
    ("zigzag cp", 3): ["0 1 [0,1)", "1 1 [1,2)", "2 1 [2,3)", "3 0 -"],
    ("cyclic 1 cp", 4096): ["0 1024 [0,1)+[4,5)+[8,9)+[12,13) and 1020 more 2096128"],
}
for (split, at), rows in ROWS.items():
    shown = proved(["--mesh", "cp=4", "--tokens", split, "--ranks", "--at", at])
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    for row in rows:
        test.expect(any(line.startswith(row) for line in lines), f"{split} at {at}: {row}", shown)
shown = proved(["--mesh", "tp=8", *QWEN, "--ranks", "--at", "1"])
lines = [" ".join(line.split()) for line in shown.splitlines()]
for row in ["0 8 [0,8)", "7 8 [56,64)", "0 1 [0,1)", "2 1 [1,2)"]:
    test.expect(row in lines, f"heads of ranks: {row}", shown)

wrong([], "--mesh", "required")
wrong(["--mesh", "tp8"], "--mesh", "found 'tp8'", "expected AXIS=RANKS")
wrong(["--mesh", ""], "--mesh", "expected")
wrong(["--mesh", "tp=0"], "found '0'", "expected a number of ranks from 1")
wrong(["--mesh", "tp=99999999999999999999"], "found '9999", "expected a number of ranks")
wrong(["--mesh", "tp=2,tp=4"], "found 'tp=4'", "expected each axis once")
MESH = ["--mesh", "tp=2,cp=2"]
wrong([*MESH, "--tokens", "zigzg cp"], "--tokens", "found 'zigzg'", "expected block, zigzag")
wrong([*MESH, "--tokens", "block xp"], "--tokens", "found 'xp'", "expected an axis", "tp, cp")
wrong([*MESH, "--tokens", "block"], "--tokens", "found ''", "expected an axis")
wrong([*MESH, "--tokens", "block cp block tp"], "found 'block'", "expected 'then'")
wrong([*MESH, "--tokens", "block cp then"], "found ''", "expected a split")
wrong([*MESH, "--tokens", "cyclic cp"], "found 'cp'", "expected the length of a run")
wrong([*MESH, "--tokens", "cyclic 0 cp"], "found '0'", "expected the length of a run")
wrong([*MESH, "--heads", "block tp"], "--heads", "found 'block tp'", "expected a number first")
wrong([*MESH, "--heads", "x: block tp"], "--heads", "found 'x'", "expected a number of heads")
wrong([*MESH, "--layers", "2: owner cp 0,x"], "--layers", "found 'x'", "expected the rank")
wrong([*MESH, "--kv-heads", "4: readers tp"], "--heads", "found none", "expected the query heads")
wrong([*MESH, "--dim", "block ep"], "--dim", "found 'block ep'", "expected NAME=SPLIT")
wrong([*MESH, "--ranks"], "--at", "found 0", "expected 1 to")
wrong([*MESH, "--ranks", "--at", "x"], "--at", "found 'x'", "expected a whole number")
wrong(["--mesh", "tp=64,cp=64", "--tokens", "zigzag cp then block tp", "--ranks", "--at", 4000000],
      "--ranks", "found 4000000 tokens", "expected up to 65536")
wrong([*MESH, "--heads", "1048577: block tp"], "found '1048577'", "expected a number of heads")
test.finish("coverage")
