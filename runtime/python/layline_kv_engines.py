"""Transfer engines as a side of `layline kv send` uses them: register memory,
say how to be reached, connect, send one batch and see that it has arrived.
"""

import base64
import ctypes
import importlib.metadata
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
