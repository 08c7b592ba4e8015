#!/usr/bin/env python3
"""Descriptors of a migration: Layline's library against SGLang's own functions.

Both get the same page tables, as int32 arrays, in one process and by turns, and
both make every descriptor of a pair of ranks: SGLang by calling its transfer
engine's stand-in batch by batch, Layline by a bind and a fill on one thread. The
descriptors are compared, one by one, before anything is timed.

SGLang's code is read out of its wheel at run time, by the tool that --tool names:
  pip download --no-deps sglang==0.5.23 && unzip -d unpacked sglang-*.whl
Without the wheel or the tool Layline is timed alone; without numpy it ends with
77. Both are said.
"""

import argparse
import ctypes
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import types

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("LAYLINE_SHARED", ROOT.parent / "shared"))
SOURCE, TARGET = 1 << 44, 1 << 45


try:
    import numpy as np
except ImportError:
    print(f"SKIPPED: {sys.executable} has no numpy (tools/setup.sh installs "
          "Debian's)")
    sys.exit(77)


class Workload:
    """One pair of ranks: SGLang's call, and the plan that is the same."""

    def __init__(self, name, plan, pair, tokens, page, kind, bar=None):
        self.name, self.plan, self.pair = name, plan, pair
        self.tokens, self.page, self.kind, self.bar = tokens, page, kind, bar


# Bars are those of the project: times faster than SGLang, one thread.
WORKLOADS = [
    Workload("seed pair, page 64", "seed_page64", (0, 2), 4096, 64, "rising", 60),
    Workload("seed pair, page 64, shuffled", "seed_page64", (0, 2), 4096, 64,
             "shuffled", 60),
    Workload("seed pair, page 1", "seed_page1", (0, 2), 4096, 1, "rising", 60),
    Workload("seed pair, cp rank 0 sends all", "seed_first", (0, 2), 4096, 64,
             "rising", 60),
    Workload("equal tp, page 64", "equal_tp", (0, 0), 4096, 64, "rising"),
    Workload("equal tp, page 64, shuffled", "equal_tp", (0, 0), 4096, 64,
             "shuffled"),
    Workload("Qwen3-235B 128k, TP 4 to 8", "tp4_tp8", (1, 3), 131072, 64,
             "rising", 60),
    Workload("MLA 128k, page 64", "mla_page64", (0, 0), 131072, 64, "rising"),
    Workload("MLA 128k, page 64, runs of 8", "mla_page64", (0, 0), 131072, 64,
             "runs", 300),
    Workload("MLA 128k, page 64, shuffled", "mla_page64", (0, 0), 131072, 64,
             "shuffled", 300),
    Workload("MLA 128k, page 1, shuffled", "mla_page1", (0, 0), 131072, 1,
             "shuffled", 300),
    Workload("MLA 128k, DCP 8", "mla_dcp8", (3, 3), 131072, 64, "rising", 300),
]


def make_pages(count, kind, first, rng):
    if kind == "shuffled":
        return (first + rng.permutation(count)).astype(np.int32)
    pages = np.arange(first, first + count, dtype=np.int32)
    if kind == "runs":
        runs = pages.reshape(-1, 8)
        rng.shuffle(runs)
    return pages


def addresses(first, count):
    return [first + i * (1 << 36) for i in range(count)]


class Recorder:
    """Takes the place of SGLang's transfer engine. What it does with a batch is
    nothing, unless `batches` is a list to append to."""

    batches = None

    def batch_transfer_sync(self, session, source, target, lengths):
        if self.batches is not None:
            self.batches.append([np.asarray(part, dtype=np.uint64)
                                 for part in (source, target, lengths)])
        return 0


class SGLang:
    def __init__(self, tool, site_packages):
        spec = importlib.util.spec_from_file_location("sglang_tool", tool)
        self.tool = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.tool)
        self.functions, self.manager, _ = self.tool.load(str(site_packages))
        self.engine = Recorder()
        self.thread = self.tool.Inline()  # faster than its pool of one

    def make_call(self, workload, pages):
        """The function to be timed."""
        work = workload.plan
        source, target = pages
        make = lambda **kw: self.tool.manager(  # noqa: E731
            self.manager, self.engine, page=workload.page, **kw)
        if work.startswith("mla"):
            m = make(layers=61, heads_total=1, ptp=1, rank=0, row_bytes=1152,
                     mla=True)
            to = addresses(TARGET, 61)
            if work != "mla_dcp8":
                return lambda: m.send_kvcache("s", source, to, target, self.thread)
            return lambda: m.send_kvcache_dcp(
                "s", source, to, target, dcp_token_item_lens=[1152] * 61,
                dst_dcp_size=8, dst_dcp_rank=3, src_page_offset=0,
                decode_prefix_len=0, num_kv_tokens=workload.tokens,
                executor=self.thread, dst_layer_ids=[])
        layers = 94 if work == "tp4_tp8" else 48
        to = addresses(TARGET, 2 * layers)
        if work == "equal_tp":
            m = make(layers=layers, heads_total=4, ptp=4, rank=0, row_bytes=256,
                     mla=False)
            return lambda: m.send_kvcache("s", source, to, target, self.thread)
        if work == "tp4_tp8":
            m = make(layers=layers, heads_total=4, ptp=4, rank=1, row_bytes=256,
                     mla=False)
            return lambda: m.send_kvcache_slice(
                "s", source, to, target, 3, 8, workload.page * 256, self.thread)
        m = make(layers=layers, heads_total=4, ptp=1, rank=0, row_bytes=1024,
                 mla=False)
        if work != "seed_first":
            # SGLang filters pages before this; Layline's bind does it inside.
            rank = types.SimpleNamespace(attn_cp_rank=0, attn_cp_size=4)
            source, part = self.functions["filter_kv_indices_for_cp_rank"](
                rank, source, slice(0, len(source)), len(source))
            target = target[part]
        return lambda: m.send_kvcache_slice(
            "s", source, to, target, 2, 4, workload.page * 256, self.thread)


class Layline:
    """A plan bound and expanded on one thread."""

    def __init__(self, kv, sink, plans, workload, pages):
        self.workload, self.pages = workload, pages
        self.plan = kv.Plan.load(plans / (workload.plan + ".json"))
        self.request = kv.Request(workload.tokens)
        source, target = workload.pair
        # Registered once, like the pointers that SGLang keeps.
        self.memories = [
            kv.Memory(addresses(first, len(side.rank(rank).buffers)), [own])
            for first, side, rank, own in (
                (SOURCE, self.plan.source, source, pages[0]),
                (TARGET, self.plan.target, target, pages[1]))]
        binding = self.bind()
        self.descriptors, self.batches = binding.descriptors, binding.batches()
        self.regions = len(binding.regions())
        self.equal_bytes = binding.equal_bytes
        self.out = tuple(np.zeros(self.descriptors, np.uint64) for _ in range(3))
        self.take = kv.VISIT(("layline_bench_take", sink))

    def bind(self):
        """With the page tables of a request."""
        for memory, pages in zip(self.memories, self.pages):
            memory.set_tables([pages])
        return self.plan.bind(self.request, *self.workload.pair, *self.memories)

    def expand(self):
        """All descriptors, side by side."""
        self.bind().fill(out=self.out)

    def expand_addresses(self):
        """The same without lengths, where all are one number: a caller that has
        written it into an array once need not do so for each request."""
        self.bind().fill(out=(*self.out[:2], None))

    def expand_by_batch(self):
        """All descriptors, batch by batch, to a C function that stands in for
        the engine: what an engine does that sends each at once."""
        self.bind().for_each_batch(self.take, 1024)

    def take_regions(self):
        self.bind().regions()

    def set_memory(self):
        for array in self.out:
            ctypes.memset(array.ctypes.data, 1, array.nbytes)


def compare(sglang, call, layline):
    """Descriptor by descriptor, in order."""
    sglang.engine.batches = []
    call()
    batches, sglang.engine.batches = sglang.engine.batches, None
    if [len(b[0]) for b in batches] != layline.batches["descriptors"].tolist():
        sys.exit(f"{layline.workload.name}: batches differ")
    layline.expand()
    pieces = []  # by batch, copied: they are valid during the call only
    layline.bind().for_each_batch(
        lambda _, first, *arrays: pieces.append([a.copy() for a in arrays]), 1024)
    for k, what in enumerate(("source", "target", "length")):
        theirs = np.concatenate([batch[k] for batch in batches])
        if not np.array_equal(theirs, layline.out[k]):
            sys.exit(f"{layline.workload.name}: {what}s differ")
        if not np.array_equal(theirs, np.concatenate([p[k] for p in pieces])):
            sys.exit(f"{layline.workload.name}: {what}s by batch differ")


def take_turns(calls, rounds, seconds):
    """Median wall and processor seconds of each, called again and again. They
    take turns in rounds of about so many seconds, so that other work on the
    machine meets all of them alike."""
    times = [[] for _ in calls]
    for _ in range(rounds):
        for call, own in zip(calls, times):
            end = time.perf_counter() + seconds
            while True:
                cpu, wall = time.process_time(), time.perf_counter()
                call()
                now = time.perf_counter()
                own.append((now - wall, time.process_time() - cpu))
                if now >= end:
                    break
    return [tuple(sorted(column)[len(own) // 2] for column in zip(*own))
            for own in times]


def measure(sglang, kv, sink, plans, workload, rounds, seconds):
    rng = np.random.default_rng(7)
    count = workload.tokens // workload.page
    there = count // 8 if workload.plan == "mla_dcp8" else count
    pages = [make_pages(count, workload.kind, 3, rng),
             make_pages(there, workload.kind, 11, rng)]
    layline = Layline(kv, sink, plans, workload, pages)
    calls = [layline.expand, layline.expand_by_batch, layline.bind,
             layline.take_regions, layline.set_memory,
             layline.expand_addresses if layline.equal_bytes else layline.expand]
    if sglang:
        calls.append(sglang.make_call(workload, pages))
        if layline.descriptors <= 10_000_000:
            compare(sglang, calls[-1], layline)
    for call in calls[:6]:
        call()
    return layline, take_turns(calls, rounds, seconds)


def ms(seconds):
    value = seconds * 1e3
    return f"{value:.3f}" if value < 10 else f"{value:.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", default=ROOT / "build/lib/liblayline_kv.so")
    parser.add_argument("--plan-writer", default=ROOT / "build/bin/kv_plans")
    parser.add_argument("--sink", default=ROOT / "build/lib/libkv_sink.so")
    parser.add_argument("--tool", default=SHARED / "tools/bench_sglang_descriptors.py",
                        type=pathlib.Path)
    parser.add_argument("--site-packages", type=pathlib.Path,
                        default=os.environ.get("LAYLINE_SGLANG"),
                        help="the unpacked wheel of sglang 0.5.23; $LAYLINE_SGLANG")
    parser.add_argument("--alone", action="store_true", help="without SGLang")
    parser.add_argument("--only", default="", help="workloads with this in their name")
    parser.add_argument("--rounds", default=5, type=int)
    parser.add_argument("--seconds", default=0.1, type=float,
                        help="of one call's turn; a long call is made once")
    args = parser.parse_args()
    os.environ["LAYLINE_KV_LIBRARY"] = str(args.library)
    sys.path.insert(0, str(ROOT / "runtime/python"))
    sys.dont_write_bytecode = True
    import layline_kv as kv
    sink = ctypes.CDLL(str(args.sink))

    missing = None
    if args.alone:
        missing = "as asked"
    elif not args.site_packages:
        missing = "no wheel of SGLang; give --site-packages or LAYLINE_SGLANG"
    elif not (args.site_packages / "sglang/srt/disaggregation").is_dir():
        missing = f"'{args.site_packages}' holds no unpacked wheel of SGLang"
    elif not args.tool.is_file():
        missing = f"'{args.tool}' is not there"
    if missing:
        print(f"SKIPPED: the comparison with SGLang: {missing}")
    sglang = None if missing else SGLang(args.tool, args.site_packages)

    print("Milliseconds, medians, one thread. `all`: bind and fill into arrays of all "
          "descriptors;\n`by batch`: bind, then batch by batch, at most 1,024 at a time, to a "
          "C function;\n`addresses`: as `all`, without lengths where all are equal; `memset`: of "
          "the arrays of all.\nTimes faster: processor time, and wall time in brackets.")
    print("| workload | descriptors | SGLang | all | by batch | bind | bind + regions "
          "| regions | addresses | memset | memset / fill | times faster, all | addresses "
          "| by batch | bar |")
    print("|---" + "|---:" * 14 + "|")
    failed = []
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([args.plan_writer, scratch], check=True)
        for workload in WORKLOADS:
            if args.only not in workload.name:
                continue
            layline, times = measure(sglang, kv, sink, pathlib.Path(scratch), workload,
                                     args.rounds, args.seconds)
            whole, batch, bind, regions, memset, bare = times[:6]
            theirs = times[6] if sglang else None
            fill = max(whole[1] - bind[1], 1e-9)
            faster = [f"{theirs[1] / own[1]:.0f} ({theirs[0] / own[0]:.0f})"
                      if theirs else "-" for own in (whole, bare, batch)]
            if theirs and workload.bar and theirs[1] / batch[1] < workload.bar:
                failed.append(workload.name)
            cells = [workload.name, f"{layline.descriptors:,}",
                     ms(theirs[1]) if theirs else "-",
                     *[ms(own[1]) for own in (whole, batch, bind, regions)],
                     f"{layline.regions:,}",
                     ms(bare[1]) if layline.equal_bytes else "-", ms(memset[1]),
                     f"{memset[1] / fill:.0%}" if layline.descriptors > 50_000 else "-",
                     *faster, workload.bar or "-"]
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)
    if failed:
        print("by batch, below their bars: " + ", ".join(failed))


if __name__ == "__main__":
    main()
