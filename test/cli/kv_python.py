#!/usr/bin/env python3
"""layline_kv.py over liblayline_kv.so: plans of test/plans bound with numpy
arrays; what comes back against plain numpy, and bytes really moved.

kv_python.py LIBRARY MODULE_DIR PLANS
Ends with 77, and says so, where this Python has no numpy.
"""
import ctypes
import json
import os
import sys
import threading

LIBRARY, MODULE_DIR, PLANS = sys.argv[1:4]
try:
    import numpy as np
except ImportError:
    print(f"SKIPPED: {sys.executable} has no numpy (tools/setup.sh installs "
          "Debian's python3-numpy)")
    sys.exit(77)

os.environ["LAYLINE_KV_LIBRARY"] = LIBRARY
sys.path.insert(0, MODULE_DIR)
import layline_kv as kv  # noqa: E402


def expect(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")
    print(f"ok: {what}")


def expect_error(kind, text, call):
    try:
        call()
    except kind as error:
        expect(text in str(error), f"{kind.__name__}: {error}")
    else:
        sys.exit(f"FAILED: no {kind.__name__} with '{text}'")


def load(name, version="kv-v1.0"):
    return kv.Plan.load(os.path.join(PLANS, version, name + ".json"))


def addresses(side, rank, first):
    """Made-up ones, far apart."""
    count = len(side.rank(rank).buffers)
    return np.uint64(first) + np.arange(count, dtype=np.uint64) * np.uint64(
        1 << 36)


def check_seed_pair():
    plan = load("qwen3-30b-a3b_tp1cp4_tp4_compat")
    expect((plan.model, plan.profile, len(plan.transfers)) ==
           ("qwen3-30b-a3b", "sglang-compat", 16), "the plan says what it is")
    expect([p.name for p in plan.planes] == ["k", "v"]
           and plan.planes[0].layers == list(range(48)), "planes and layers")
    expect(plan.source.tables == ["kv"] and plan.source.ranks == 4
           and plan.target.rank(1).buffers[49] ==
           kv.Buffer("v", 1, 0, 64 * 256), "sides, ranks, buffers")
    expect(plan.responders(3) == [0, 1, 2, 3], "responders")
    expect(len(plan.pair(1, 2)) == 1
           and plan.pair(1, 2)[0].batches_by_layer, "transfers of a pair")
    request = kv.Request(4096)
    expect(plan.source.pages(request, 0) == 64, "pages of a request")
    rng = np.random.default_rng(1)
    pages = [(3 + rng.permutation(64)).astype(np.int32) for _ in range(2)]
    source = kv.Memory(addresses(plan.source, 1, 1 << 44), pages[:1], [100])
    target = kv.Memory(addresses(plan.target, 2, 1 << 45), pages[1:])
    binding = plan.bind(request, 1, 2, source, target)
    plan.close()
    expect((binding.descriptors, binding.bytes) == (98304, 25165824),
           "96 batches of 1,024 descriptors of 256 bytes")
    token = np.arange(1024, 2048)
    slot = [p[token // 64].astype(np.int64) * 64 + token % 64 for p in pages]
    want_source = (source.buffers[:, None].astype(np.int64)
                   + slot[0] * 1024 + 512).reshape(-1)
    want_target = (target.buffers[:, None].astype(np.int64)
                   + slot[1] * 256).reshape(-1)
    for threads in (1, 2, 0):
        got = binding.fill(threads=threads)
        expect((got[0] == want_source).all() and (got[1] == want_target).all()
               and (got[2] == 256).all(), f"descriptors, threads={threads}")
    out = tuple(np.zeros(500, np.uint64) for _ in range(3))
    binding.fill(700, 500, out)
    expect((out[0] == want_source[700:1200]).all(), "a range, into arrays")
    expect(binding.equal_bytes == 256, "all of one length")
    bare = tuple(np.zeros(98304, np.uint64) for _ in range(2))
    binding.fill(out=(*bare, None))
    expect((bare[0] == want_source).all() and (bare[1] == want_target).all(),
           "addresses without lengths")
    rows = binding.fill_rows(source_device=1, target_device=2)
    expect((rows[0][:, 0] == want_source).all() and (rows[0][:, 1] == 256).all()
           and (rows[0][:, 2] == 1).all()
           and (rows[1][:, 0] == want_target).all()
           and (rows[1][:, 2] == 2).all(), "rows of address, bytes, device")
    regions = binding.regions()
    blocks = np.concatenate([
        (np.int64(r["source"])
         + np.arange(r["outer"])[:, None] * r["source_jump"]
         + np.arange(r["inner"])[None, :] * r["source_step"]).reshape(-1)
        for r in regions])
    expect((blocks == want_source).all(), "regions hold the same blocks")
    batches = binding.batches()
    expect(len(batches) == 96 and (batches["descriptors"] == 1024).all()
           and (batches["first"] == np.arange(96) * 1024).all()
           and (batches["bytes"] == 262144).all(), "batches")
    for threads in (1, 3):
        seen = np.zeros(98304, np.int64)
        lock = threading.Lock()

        def visit(batch, first, a, b, length):
            with lock:
                seen[first:first + len(a)] = a
        binding.for_each_batch(visit, 1000, threads)
        expect((seen == want_source).all(),
               f"batches through a callback, threads={threads}")

    def stop(*_):
        raise KeyError("enough")
    expect_error(KeyError, "enough", lambda: binding.for_each_batch(stop))


def check_packed():
    plan = load("qwen3-30b-a3b_tp1cp4_tp4_optimised")
    tokens, rng = 200, np.random.default_rng(2)
    pages = [rng.permutation(6).astype(np.int32) for _ in range(2)]
    source = rng.integers(0, 256, (96, 6, 64, 4, 256), dtype=np.uint8)
    target = np.zeros((96, 6, 64, 256), np.uint8)

    def lay(array):
        return np.array([part.ctypes.data for part in array], np.uint64)
    for rank in range(4):
        binding = plan.bind(kv.Request(tokens), rank, 2,
                            kv.Memory(lay(source), pages[:1], [6]),
                            kv.Memory(lay(target), pages[1:], [6]))
        for number, part in enumerate(binding.parts()):
            expect(part.packing == "source", f"rank {rank} packs at the source")
            packing = binding.pack(number, 300000, plan.max_descriptors)
            slot = np.empty(300000, np.uint8)
            for i in range(len(packing.rounds)):
                packing.pack(i, slot, threads=2)
                for a, b, length in zip(*packing.descriptors(
                        i, slot.ctypes.data)):
                    ctypes.memmove(int(b), int(a), int(length))
                packing.unpack(i, slot)
    token = np.arange(tokens)
    is_same = (target[:, pages[1][token // 64], token % 64]
               == source[:, pages[0][token // 64], token % 64, 2]).all()
    rest = target.copy()
    rest[:, pages[1][token // 64], token % 64] = 0
    expect(is_same and not rest.any(), "packed bytes arrive, and no others")


def check_tables():
    """Tables behind a prefix, pages by their numbers, pages of slots."""
    plan = load("qwen3-30b-a3b_tp1cp4_tp4_compat")
    buffers = [addresses(plan.source, 1, 1 << 44), addresses(plan.target, 2, 1 << 45)]
    rng = np.random.default_rng(3)
    pages = [(3 + rng.permutation(64)).astype(np.int32) for _ in range(2)]
    request = kv.Request(4096, prefix=1024 + 512)
    first = plan.source.first_page(request, 1)
    expect(first == 24, "the first page behind a prefix")
    whole = plan.bind(request, 1, 2, kv.Memory(buffers[0], pages[:1]),
                      kv.Memory(buffers[1], pages[1:])).fill()
    behind = [kv.Memory(own, [table[first:]], first_pages=[first])
              for own, table in zip(buffers, pages)]
    got = plan.bind(request, 1, 2, *behind).fill()
    expect(whole[0].size == 96 * 512
           and all((a == b).all() for a, b in zip(whole, got)),
           "tables behind a prefix bring the same")
    expect_error(kv.Error, "begins with page 24 of the request; the tokens need "
                 "it from page 16 on",
                 lambda: plan.bind(kv.Request(4096), 1, 2, *behind))
    behind[0].set_tables(pages[:1])
    expect(all((a == b).all() for a, b in
               zip(whole, plan.bind(request, 1, 2, *behind).fill())),
           "a table of another request, from its begin")
    expect_error(ValueError, "first_pages: has 2 elements; 1 are expected",
                 lambda: behind[0].set_tables(pages[:1], [1, 2]))

    # The same plan for a cache whose page numbers the cp ranks divide.
    with open(os.path.join(PLANS, "kv-v1.0", "qwen3-30b-a3b_tp1cp4_tp4_optimised.json")) as f:
        text = json.load(f)
    text["features"] = ["page_number"]
    for rank in text["source"]["ranks"]:
        rank["tokens"] = {"kind": "page_number", "parts": 4, "index": rank["cp"]}
    for transfer in text["transfers"]:
        for move in transfer["moves"]:
            move["share"] = {"kind": "whole"}
    plan = kv.Plan.from_text(json.dumps(text))
    expect(plan.source.rank(3).page_parts == (4, 3)
           and plan.target.rank(3).page_parts == (1, 0), "who keeps which pages")
    sent = []
    for rank in range(4):
        binding = plan.bind(kv.Request(4096), rank, 2,
                            kv.Memory(buffers[0], pages[:1], [17]),
                            kv.Memory(buffers[1], pages[1:], [67]))
        own, entries = kv.striped_pages(pages[0], 4, rank)
        token = (entries[:, None] * 64 + np.arange(64)).reshape(-1)
        slot = (own[:, None].astype(np.int64) * 64 + np.arange(64)).reshape(-1)
        got = binding.fill(0, token.size)
        expect(binding.descriptors == 96 * token.size
               and (got[0] == int(buffers[0][0]) + slot * 1024 + 512).all(),
               f"the pages of rank {rank} by their numbers")
        sent.append(token)
    expect((np.sort(np.concatenate(sent)) == np.arange(4096)).all(),
           "each page has one owner")

    slots = (pages[0].astype(np.int64)[:, None] * 64 + np.arange(64)).reshape(-1)
    expect((kv.pages_of_slots(slots[:4000], 64) == pages[0][:63]).all(),
           "pages of slots")
    expect_error(kv.Error, "token 1 is in slot", lambda: kv.pages_of_slots(
        slots[::2].copy(), 64))
    expect_error(TypeError, "slots: is int32",
                 lambda: kv.pages_of_slots(slots.astype(np.int32), 64))


def check_errors():
    expect_error(kv.Error, "cannot be opened", lambda: load("missing"))
    expect_error(kv.Error, "'x': not a JSON document",
                 lambda: kv.Plan.from_text("{", "x"))
    plan = load("deepseek-v3_dcp8_compat")
    good = addresses(plan.source, 0, 1 << 44)
    pages = np.arange(4, dtype=np.int32)

    def bind(buffers, tables, tokens=256):
        memory = kv.Memory(buffers, tables)
        return plan.bind(kv.Request(tokens), 0, 0, memory,
                         kv.Memory(good, [pages]))
    expect(bind(good, [pages]).descriptors == 32 * 61, "tokens of one of 8")
    expect_error(kv.Error, "61 are expected", lambda: bind(good[1:], [pages]))
    expect_error(kv.Error, "has 4 pages; the tokens need 5",
                 lambda: bind(good, [pages], 320))
    expect_error(kv.Error, "entry 1 is page -1", lambda: bind(
        good, [np.array([0, -1, 2, 3], np.int32)]))
    expect_error(kv.Error, "page 2 stands at entry 1 and again at 3",
                 lambda: bind(good, [np.array([0, 2, 3, 2], np.int32)]))
    expect_error(TypeError, "tables[0]: is int64; a numpy array of int32",
                 lambda: bind(good, [pages.astype(np.int64)]))
    expect_error(TypeError, "buffers: is int64",
                 lambda: bind(good.astype(np.int64), [pages]))
    expect_error(ValueError, "is not contiguous",
                 lambda: bind(good, [np.arange(8, dtype=np.int32)[::2]]))
    memory = kv.Memory(good, [pages])
    expect_error(ValueError, "tables: has 2 elements; 1 are expected",
                 lambda: memory.set_tables([pages, pages]))
    frozen = np.arange(4, dtype=np.int32)
    frozen.flags.writeable = False
    memory.set_tables([frozen])
    expect(plan.bind(kv.Request(256), 0, 0, memory,
                     kv.Memory(good, [pages])).descriptors == 32 * 61,
           "tables of the next request, read-only")
    binding = bind(good, [pages])
    expect_error(kv.Error, "1 descriptors from number 1952 on",
                 lambda: binding.fill(1952, 1))
    expect_error(ValueError, "has shape (3,); (5,) is expected",
                 lambda: binding.fill(0, 5, [np.zeros(3, np.uint64)] * 3))
    binding.close()
    expect_error(ValueError, "is closed", lambda: binding.fill())


def check_completion():
    for version in ("kv-v1.0", "kv-v1.1"):  # what the first lacks is found
        plan = load("qwen3-30b-a3b_tp1cp4_tp4_optimised", version)
        expect(plan.readiness(1) == [
            kv.Responder(rank, f"pp0.dp0.cp{rank}.tp0", 2,
                         ("main", "auxiliary")) for rank in range(4)],
            f"{version}: what each responder reports, under its key")
        expect(plan.lifetimes()[0] == kv.Lifetime(
            "source_pages", "kv", "taken", "arrived", "quiet", "any_request")
            and [entry.store for entry in plan.lifetimes()] ==
            ["source_pages", "target_pages", "source_slots"],
            f"{version}: how long buffers are pinned")
        slots = plan.slots()
        expect(len(slots) == 16 and slots[5] == kv.Slot(
            "source", 1, 1, 1, 32 << 20, 2048), f"{version}: relay slots")
        expect(len({plan.source.page_digest(rank, 7) for rank in range(4)})
               == 1, f"{version}: replicas have one key")
        keys = {plan.target.page_digest(rank, index)
                for rank in range(4) for index in range(96)}
        expect(len(keys) == 4 * 96 and len(min(keys)) == 64,
               f"{version}: heads, layers and planes have keys of their own")
        expect(plan.target.layers_digest(0, "k")
               != plan.target.layers_digest(0, "v"),
               f"{version}: keys of all layers")
        expect_error(kv.Error, "buffer 'w' is asked for",
                     lambda: plan.target.layers_digest(0, "w"))
    plan = load("deepseek-v3.2_cp8layersplit_tp8_optimised", "kv-v1.1")
    expect([entry.name for entry in plan.lifetimes()
            if entry.store == "broadcast_scratch"] == ["latent", "index"],
           "scratch of the owners' broadcasts is pinned")
    expect(len({plan.source.layers_digest(rank, "latent")
                for rank in range(8)}) == 8,
           "owners of other layers have other keys")
    pages = np.arange(4, dtype=np.int32)
    plan = load("qwen3-30b-a3b_tp1cp4_tp4_optimised", "kv-v1.1")
    binding = plan.bind(
        kv.Request(256), 0, 0,
        kv.Memory(addresses(plan.source, 0, 1 << 44), [pages]),
        kv.Memory(addresses(plan.target, 0, 1 << 45), [pages]))
    expect(binding.part_slot(0) == kv.PartSlot(32 << 20, 2048, 0)
           and len(binding.pack(0).rounds) == 1, "rounds of the part's slots")


check_seed_pair()
check_packed()
check_tables()
check_completion()
check_errors()
