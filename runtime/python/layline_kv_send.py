"""One side of a KV transfer over a real engine: what `layline kv send` starts
twice, once for the source rank and once for the target rank.

    layline_kv_send.py ENGINE MEMORY_FD COMMANDS_FD ANSWERS_FD

Reads commands and answers each, a JSON object on a line. The memory of the rank
is a file that the command has filled and will compare; descriptors are those of
layline_kv.py, and bytes move through the engine and nothing else. Who asks
limits the time that an answer may take; an engine's own waits end too.
"""

import ctypes
import json
import mmap
import os
import sys
import time

from layline_kv_engines import ENGINES, INSTALL, Missing, Refused


class Rank:
    """One side: its memory, its engine, and what it has bound. Commands are its
    methods; what they return is the answer."""

    def __init__(self, engine, memory_fd):
        self._engine_name = engine
        self._memory_fd = memory_fd
        self._engine = self._plan = self._binding = None
        self._packings = {}
        self._kept = []  # what addresses point into

    def open(self, plan, size, slot, library, timeout):
        """Maps the memory, starts the engine and registers both with it."""
        self._plan = kv.Plan.load(plan)
        self._engine = ENGINES[self._engine_name](library, timeout)
        self._timeout = timeout
        # Memory that is registered with a network card is there: no time is
        # taken for pages that are touched first by a transfer.
        memory = mmap.mmap(self._memory_fd, size,
                           mmap.MAP_SHARED | mmap.MAP_POPULATE)
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        self._engine.register(address, size)
        self._slot = np.full(slot, 0xee, np.uint8)
        if slot:
            self._engine.register(self._slot.ctypes.data, slot)
        self._kept.append(memory)
        return {"version": self._engine.version, "address": address,
                "slot": self._slot.ctypes.data if slot else 0,
                "description": self._engine.describe(),
                "queue_limit": self._engine.queue_limit}

    def connect(self, description):
        self._engine.connect(description)
        return {}

    def bind(self, request, source, target, memories, slots):
        """Binds a chunk of the request; both sides do, and find the same."""
        begin = time.perf_counter()
        request = kv.Request(request["tokens"], request["begin"],
                             request["end"], request["is_last"],
                             request["prefix"], request["room"])
        bound = []
        for memory in memories:
            bound.append(kv.Memory(
                np.array(memory["buffers"], np.uint64),
                [np.array(table, np.int32) for table in memory["tables"]],
                memory["pool_pages"], memory["first_pages"]))
        self._binding = self._plan.bind(request, source, target, *bound)
        self._packings = {}
        self._slots = slots
        parts = []
        for number, part in enumerate(self._binding.parts()):
            parts.append({"packing": part.packing, "rounds": 0})
            if part.packing != "none":
                slot = self._binding.part_slot(number)
                limit = min(filter(None, (slot.max_descriptors,
                                          self._engine.queue_limit)), default=0)
                packing = self._binding.pack(number, slot.bytes, limit)
                self._packings[number] = packing
                parts[-1]["rounds"] = len(packing.rounds)
        return {"parts": parts, "seconds": time.perf_counter() - begin}

    def send_part(self, part):
        """Source: every batch of a part as it is."""
        entry = self._binding.parts()[part]
        sums = _Sums()
        batches = self._binding.batches()
        for number in range(entry.first_batch,
                            entry.first_batch + entry.batches):
            begin = time.perf_counter()
            first = int(batches["first"][number])
            count = int(batches["descriptors"][number])
            arrays = self._binding.fill(first, count)
            self._send(arrays, sums, begin)
        return sums.values

    def send_round(self, part, round):
        """Source: a round of a part that packs at one side or both."""
        packing, sums = self._packings[part], _Sums()
        packed = begin = time.perf_counter()
        if self._slot.size:  # else the target unpacks, and nothing is packed
            packing.pack(round, self._slot[:packing.rounds[round].bytes])
            packed = time.perf_counter()
        sums.add(pack=packed - begin)
        arrays = packing.descriptors(round, *self._slots)
        self._send(arrays, sums, packed)
        return sums.values

    def unpack(self, part, round):
        """Target: a round that has arrived in its slot."""
        packing = self._packings[part]
        begin = time.perf_counter()
        packing.unpack(round, self._slot[:packing.rounds[round].bytes])
        return {"seconds": time.perf_counter() - begin}

    def settle(self, calls):
        """Target: until so many transfers have arrived in all."""
        begin = time.perf_counter()
        end = time.monotonic() + self._timeout
        arrived = self._engine.arrived()
        while arrived is not None and arrived < calls:
            if time.monotonic() > end:
                raise Refused(f"{arrived} of {calls} transfers have arrived "
                              f"after {self._timeout} s")
            time.sleep(0.0002)
            arrived = self._engine.arrived()
        return {"seconds": time.perf_counter() - begin}

    def _send(self, arrays, sums, begin):
        """One batch, in several calls where the engine's queue is shorter."""
        count = len(arrays[0])
        most = self._engine.queue_limit or count
        for first in range(0, count, most):
            prepared = self._engine.prepare(
                *[array[first:first + most] for array in arrays])
            start = time.perf_counter()
            self._engine.send(prepared)
            end = time.perf_counter()
            sums.add(prepare=start - begin, engine=end - start, calls=1)
            sums.most(min(most, count - first))
            begin = end
        sums.add(batches=1, descriptors=count, bytes=int(arrays[2].sum()))


class _Sums:
    def __init__(self):
        self.values = dict(batches=0, calls=0, descriptors=0, bytes=0,
                           largest_call=0, pack=0.0, prepare=0.0, engine=0.0)

    def add(self, **values):
        for name, value in values.items():
            self.values[name] += value

    def most(self, descriptors):
        self.values["largest_call"] = max(self.values["largest_call"],
                                          descriptors)


def main():
    global kv, np
    engine = sys.argv[1]
    memory, commands, answers = map(int, sys.argv[2:5])
    rank = Rank(engine, memory)
    with os.fdopen(commands) as lines, os.fdopen(answers, "w") as out:
        for line in lines:
            command = json.loads(line)
            name = command.pop("do")
            try:
                if name == "open":
                    try:
                        import numpy as np
                    except ImportError as error:
                        raise Missing(f"numpy: {error}") from error
                    import layline_kv as kv
                answer = getattr(rank, name)(**command)
            except Missing as error:
                answer = {"missing": f"{error}; install it: "
                                     f"{INSTALL[engine]}"}
            except Exception as error:  # told to who asked, who then ends it
                answer = {"error": str(error) or type(error).__name__}
            out.write(json.dumps(answer) + "\n")
            out.flush()
    os._exit(0)  # engines' threads are not waited for


if __name__ == "__main__":
    main()
