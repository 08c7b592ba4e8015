"""One side of a KV transfer over a real engine: what `layline kv send` starts
twice, once for the source rank and once for the target rank.

    layline_kv_send.py ENGINE MEMORY_FD COMMANDS_FD ANSWERS_FD

Reads commands and answers each, a JSON object on a line. The memory of the rank
is a file that the command has filled and will compare; descriptors are those of
layline_kv.py, and bytes move through the engine and nothing else. Who asks
limits the time that an answer may take; an engine's own waits end too.
"""

import base64
import ctypes
import importlib.metadata
import json
import mmap
import os
import sys
import time

INSTALL = {
    "mooncake": "pip install --no-deps mooncake-transfer-engine-non-cuda==0.3.13"
                ".post1 numpy (and libibverbs1 of the system)",
    "nixl": "pip install --no-deps nixl-cu12==1.5.1 numpy"}


class Missing(Exception):
    """Something that has to be installed is not there."""


class Refused(Exception):
    """The engine, or what it runs on, did not do what it was asked to."""


class Mooncake:
    """The transfer engine's Python package, over TCP."""

    #: A peer's transfers that are queued (1,024) and under way (1,024): the TCP
    #: transport refuses a call with more. The default, which an environment
    #: variable could raise, is what deployments have.
    queue_limit = 2048

    def __init__(self, library, timeout):
        del library, timeout  # the package finds its own; its waits end
        try:
            from mooncake.engine import TransferEngine
        except ImportError as error:
            raise Missing(f"the package of mooncake: {error}") from error
        self.version = _version("mooncake-transfer-engine-non-cuda",
                                "mooncake-transfer-engine")
        self._engine = TransferEngine()
        status = self._engine.initialize("127.0.0.1", "P2PHANDSHAKE", "tcp", "")
        if status:
            raise Refused(f"mooncake: initialize gives {status}")
        self._peer = None

    def register(self, address, size):
        status = self._engine.register_memory(address, size)
        if status:
            raise Refused(f"mooncake: register_memory of {size} bytes gives "
                          f"{status}")

    def describe(self):
        return f"127.0.0.1:{self._engine.get_rpc_port()}"

    def connect(self, description):
        self._peer = description

    def prepare(self, source, target, length):
        return source.tolist(), target.tolist(), length.tolist()

    def send(self, lists):
        status = self._engine.batch_transfer_sync_write(self._peer, *lists)
        if status:
            raise Refused(f"mooncake: batch_transfer_sync_write of "
                          f"{len(lists[0])} descriptors, {sum(lists[2])} bytes "
                          f"gives {status}")

    def arrived(self):
        return None  # a write that has returned has arrived


class Nixl:
    """NIXL's C ABI, libnixl_capi.so, with the UCX backend."""

    queue_limit = 0  # none that is known

    _DRAM, _WRITE, _IN_PROGRESS = 0, 1, 1
    _FUNCTIONS = {
        "create_agent": [ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)],
        "get_local_md": [ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p),
                         ctypes.POINTER(ctypes.c_size_t)],
        "load_remote_md": [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t,
                           ctypes.POINTER(ctypes.c_char_p)],
        "agent_make_connection": [ctypes.c_void_p, ctypes.c_char_p,
                                  ctypes.c_void_p],
        "create_params": [ctypes.POINTER(ctypes.c_void_p)],
        "create_backend": [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p,
                           ctypes.POINTER(ctypes.c_void_p)],
        "create_opt_args": [ctypes.POINTER(ctypes.c_void_p)],
        "destroy_opt_args": [ctypes.c_void_p],
        "opt_args_set_notif_msg": [ctypes.c_void_p, ctypes.c_char_p,
                                   ctypes.c_size_t],
        "opt_args_set_has_notif": [ctypes.c_void_p, ctypes.c_bool],
        "create_reg_dlist": [ctypes.c_int, ctypes.POINTER(ctypes.c_void_p)],
        "reg_dlist_add_desc": [ctypes.c_void_p, ctypes.c_size_t,
                               ctypes.c_size_t, ctypes.c_uint64,
                               ctypes.c_char_p, ctypes.c_size_t],
        "register_mem": [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p],
        "create_xfer_dlist": [ctypes.c_int, ctypes.POINTER(ctypes.c_void_p)],
        "destroy_xfer_dlist": [ctypes.c_void_p],
        "xfer_dlist_add_desc": [ctypes.c_void_p, ctypes.c_size_t,
                                ctypes.c_size_t, ctypes.c_uint64],
        "create_xfer_req": [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p,
                            ctypes.c_void_p, ctypes.c_char_p,
                            ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p],
        "post_xfer_req": [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p],
        "get_xfer_status": [ctypes.c_void_p, ctypes.c_void_p],
        "release_xfer_req": [ctypes.c_void_p, ctypes.c_void_p],
        "destroy_xfer_req": [ctypes.c_void_p],
        "create_notif_map": [ctypes.POINTER(ctypes.c_void_p)],
        "get_notifs": [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p],
        "notif_map_size": [ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t)],
        "notif_map_get_notifs_size": [ctypes.c_void_p, ctypes.c_char_p,
                                      ctypes.POINTER(ctypes.c_size_t)],
        "notif_map_get_agent_at": [ctypes.c_void_p, ctypes.c_size_t,
                                   ctypes.POINTER(ctypes.c_char_p)],
        "notif_map_clear": [ctypes.c_void_p],
    }

    def __init__(self, library, timeout):
        self._timeout = timeout
        self.version = _version("nixl-cu12", "nixl-cu13", "nixl")
        path = library or self._find()
        try:
            loaded = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        except OSError as error:
            raise Missing(f"{path}: {error}") from error
        self._functions = {}
        for name, types in self._FUNCTIONS.items():
            try:
                function = getattr(loaded, "nixl_capi_" + name)
            except AttributeError as error:
                raise Missing(f"{path}: has no nixl_capi_{name}") from error
            function.argtypes, function.restype = types, ctypes.c_int
            self._functions[name] = function
        loaded.nixl_capi_is_stub.restype = ctypes.c_bool
        if loaded.nixl_capi_is_stub():
            raise Missing(f"{path}: is a stub; NIXL itself is not there")
        self._agent = self._make("create_agent", f"rank-{os.getpid()}".encode())
        self._make("create_backend", self._agent, b"UCX",
                   self._make("create_params"))
        self._options = self._make("create_opt_args")
        self._map = self._make("create_notif_map")
        self._notify = self._make("create_opt_args")
        self._call("opt_args_set_notif_msg", self._notify, b"kv", 2)
        self._call("opt_args_set_has_notif", self._notify, True)
        self._peer = None
        self._arrived = 0

    @staticmethod
    def _find():
        for package in ("nixl-cu12", "nixl-cu13", "nixl"):
            try:
                files = importlib.metadata.files(package) or []
            except importlib.metadata.PackageNotFoundError:
                continue
            for file in files:
                if file.name == "libnixl_capi.so":
                    return os.fspath(file.locate())
        raise Missing("libnixl_capi.so: in no package of nixl of "
                      f"{sys.executable}; --engine-library can name it")

    def _call(self, name, *arguments, good=(0,)):
        status = self._functions[name](*arguments)
        if status not in good:
            raise Refused(f"nixl: nixl_capi_{name} gives {status}")
        return status

    def _make(self, name, *arguments):
        made = ctypes.c_void_p()
        self._call(name, *arguments, ctypes.byref(made))
        return made

    def register(self, address, size):
        regions = self._make("create_reg_dlist", self._DRAM)
        self._call("reg_dlist_add_desc", regions, address, size, 0, b"", 0)
        self._call("register_mem", self._agent, regions, self._options)

    def describe(self):
        data, size = ctypes.c_void_p(), ctypes.c_size_t()
        self._call("get_local_md", self._agent, ctypes.byref(data),
                   ctypes.byref(size))
        return base64.b64encode(ctypes.string_at(data, size.value)).decode()

    def connect(self, description):
        data = base64.b64decode(description)
        name = ctypes.c_char_p()
        self._call("load_remote_md", self._agent, data, len(data),
                   ctypes.byref(name))
        self._peer = name.value
        self._call("agent_make_connection", self._agent, self._peer,
                   self._options)

    def prepare(self, source, target, length):
        lists = [self._make("create_xfer_dlist", self._DRAM) for _ in range(2)]
        add = self._functions["xfer_dlist_add_desc"]
        length = length.tolist()
        for handle, addresses in zip(lists, (source.tolist(), target.tolist())):
            for address, size in zip(addresses, length):
                status = add(handle, address, size, 0)
                if status:
                    raise Refused("nixl: nixl_capi_xfer_dlist_add_desc gives "
                                  f"{status}")
        return lists

    def send(self, lists):
        request = self._make_request(lists)
        end = time.monotonic() + self._timeout
        good = (0, self._IN_PROGRESS)
        status = self._call("post_xfer_req", self._agent, request,
                            self._notify, good=good)
        while status == self._IN_PROGRESS:
            if time.monotonic() > end:
                raise Refused("nixl: a transfer is not done after "
                              f"{self._timeout} s")
            # The engine's own thread makes the progress and wants the core.
            time.sleep(0.00005)
            status = self._call("get_xfer_status", self._agent, request,
                                good=good)
        self._call("release_xfer_req", self._agent, request)
        self._call("destroy_xfer_req", request)
        for handle in lists:
            self._call("destroy_xfer_dlist", handle)

    def _make_request(self, lists):
        request = ctypes.c_void_p()
        self._call("create_xfer_req", self._agent, self._WRITE, *lists,
                   self._peer, ctypes.byref(request), self._notify)
        return request

    def arrived(self):
        """How many transfers have said that they have arrived."""
        self._call("get_notifs", self._agent, self._map, self._options)
        count = ctypes.c_size_t()
        self._call("notif_map_size", self._map, ctypes.byref(count))
        for i in range(count.value):
            name, messages = ctypes.c_char_p(), ctypes.c_size_t()
            self._call("notif_map_get_agent_at", self._map, i,
                       ctypes.byref(name))
            self._call("notif_map_get_notifs_size", self._map, name,
                       ctypes.byref(messages))
            self._arrived += messages.value
        self._call("notif_map_clear", self._map)
        return self._arrived


ENGINES = {"mooncake": Mooncake, "nixl": Nixl}


def _version(*packages):
    for package in packages:
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pass
    return "of unknown version"


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
                memory["pool_pages"]))
        self._binding = self._plan.bind(request, source, target, *bound)
        self._packings = {}
        self._slots = slots
        limit = self._plan.max_descriptors
        if self._engine.queue_limit:
            limit = min(limit or self._engine.queue_limit,
                        self._engine.queue_limit)
        parts = []
        for number, part in enumerate(self._binding.parts()):
            parts.append({"packing": part.packing, "rounds": 0})
            if part.packing != "none":
                packing = self._binding.pack(number, self._plan.slot_bytes,
                                             limit)
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
