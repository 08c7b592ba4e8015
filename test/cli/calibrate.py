#!/usr/bin/env python3
"""layline calibrate: what nccl-tests prints and plain CSV become a file."""

from layline_tests import Test, read_json

test = Test()

ROWS = {1 << 10: (15.6, 15.1), 1 << 20: (25.2, 24.9), 1 << 26: (322.0, 321.0)}


def nccl_tests(name, ranks, part, rows=ROWS, unit="(us)", wrong="0", footer=True):
    """Text of a run; `part` is how many counts make the size."""
    lines = [f"# Collective test starting: {name}",
             f"# nThread 1 nGpus {ranks} minBytes 1024 maxBytes 67108864 step: 2(factor)"]
    lines += [f"#  Rank {r:2} Group  0 Pid {4000 + r} on node7 device {r:2} [0x1b] NVIDIA H200"
              for r in range(ranks)]
    lines += ["#                                   out-of-place             in-place",
              "#  size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw "
              "#wrong",
              f"#  (B)  (elements)  {unit}  (GB/s)  (GB/s)  {unit}  (GB/s)  (GB/s)"]
    lines += [f"{size} {size // 2 // part} bfloat16 sum -1 {out} 1.0 1.0 {wrong} {place} 1.0 1.0 N/A"
              for size, (out, place) in rows.items()]
    if footer:
        lines += ["# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 12.3"]
    return "\n".join(lines) + "\n"


def write(name, text):
    path = test.out / name
    path.write_text(text)
    return path


reduce = write("ar.txt", nccl_tests("all_reduce_perf", 8, 1))
gather = write("ag.txt", nccl_tests("all_gather_perf", 8, 8))
exchange = write("a2a.txt", nccl_tests("alltoall_perf", 8, 8))
table = write("own.csv", "op,ranks,bytes,us,algorithm\nall_reduce,8,1048576,14.5,multimem\n"
                         "row_kernel,1,4194304,5.5,norm\n")
out = test.out / "made" / "c.json"

run = test.run("calibrate", reduce, gather, exchange, table, "--target", "h200x8",
               "--date", "2026-11-30", "-o", out)
if test.expect(run.status == 0 and not run.stderr, "four files", run):
    made = read_json(out)
    curves = {(c["op"], c["ranks"], c["algorithm"]): c["points"] for c in made["curves"]}
    expected = [[size, times[0]] for size, times in ROWS.items()]
    test.expect(made["schema"] == "layline.calibration" and made["target"] == "h200x8"
                and made["date"] == "2026-11-30"
                and made["source"] == "ar.txt, ag.txt, a2a.txt, own.csv", "head", made)
    test.expect(curves.get(("all_reduce", 8, "nccl")) == expected, "all_reduce", curves)
    test.expect(curves.get(("all_gather", 8, "nccl")) == expected, "all_gather", curves)
    # An alltoall's size is what one rank sends.
    test.expect(curves.get(("all_to_all", 8, "nccl")) == [[8 * s, t] for s, t in expected],
                "all_to_all", curves)
    test.expect(curves.get(("all_reduce", 8, "multimem")) == [[1 << 20, 14.5]], "CSV", curves)
    test.expect("all_reduce" in run.stdout and "multimem" in run.stdout, "table of curves", run)
again = test.run("calibrate", reduce, gather, exchange, table, "--target", "h200x8",
                 "--date", "2026-11-30", "-o", test.out / "again.json")
test.expect(again.status == 0 and (test.out / "again.json").read_bytes() == out.read_bytes(),
            "the same bytes again", again)

run = test.run("calibrate", reduce, "--target", "h200x8", "--in-place", "--algorithm", "ring",
               "-o", test.out / "in.json", "--source", "node 7")
if test.expect(run.status == 0, "--in-place", run):
    made = read_json(test.out / "in.json")
    test.expect(made["curves"][0]["points"][0] == [1024, 15.1]
                and made["curves"][0]["algorithm"] == "ring" and made["source"] == "node 7",
                "in-place columns", made)

never = test.out / "never.json"


def refused(name, text, *words, options=()):
    run = test.run("calibrate", write(name, text), "--target", "h200x8", "-o", never, *options)
    test.refused(run, name, 2, *words)
    test.expect(not never.exists(), f"{name} writes nothing")


good = nccl_tests("all_reduce_perf", 8, 1)
refused("cut.txt", nccl_tests("all_reduce_perf", 8, 1, footer=False), "cut.txt:16:",
        "found the end of the file", "expected '# Avg bus bandwidth'", "cut?")
refused("cut-row.txt", good[:good.index("25.2")], "cut-row.txt:15:", "found 5 cells",
        "expected 13")
refused("ms.txt", nccl_tests("all_reduce_perf", 8, 1, unit="(ms)"), "ms.txt:13:",
        "found the unit (ms)", "expected (us)")
refused("wrong.txt", nccl_tests("all_reduce_perf", 8, 1, wrong="17"), "wrong.txt:14:",
        "found '17'", "expected 0")
refused("part.txt", nccl_tests("all_gather_perf", 8, 1), "part.txt:14:", "found 1024 bytes",
        "expected 8192")
refused("one.txt", nccl_tests("all_reduce_perf", 1, 1), "found 1 lines '# Rank", "2 or more ranks")
refused("name.txt", nccl_tests("allreduce", 8, 1), "found rows of no test", "--op")
refused("empty.txt", "", "found no rows of nccl-tests")
refused("bad.csv", "op,ranks,bytes,us\nall_reduce,8,1M,3\n", "bad.csv:2:", "bytes: found '1M'",
        "expected a whole number above 0")
refused("date.txt", good, "date: found \"tomorrow\"", "expected YYYY-MM-DD",
        options=["--date", "tomorrow"])
# A cut at any place but within the footer is an error, never a short curve.
for length in range(0, good.index("# Avg"), 37):
    run = test.run("calibrate", write("any.txt", good[:length]), "--target", "h200x8", "-o", never)
    test.refused(run, f"cut at {length}", 2, "found", "expected")

run = test.run("calibrate", write("op.txt", nccl_tests("allreduce", 8, 1)), "--target", "h200x8",
               "--op", "all_reduce", "-o", test.out / "op.json")
test.expect(run.status == 0, "--op names the test", run)
test.refused(test.run("calibrate", reduce, "--target", "h300", "-o", never), "target", 2,
             "--target", "found 'h300'", "expected one of", "h200x8")
test.refused(test.run("calibrate", test.out / "none.txt", "--target", "h200x8", "-o", never),
             "no file", 2, "none.txt: cannot be read")
test.refused(test.run("calibrate", "--target", "h200x8", "-o", never), "no files", 2, "FILES")
test.finish("calibrate")
