"""Launch plans run from Python: weights, inputs and outputs are numpy arrays.

A thin layer over liblayline_runtime.so (layline/runtime.h and layline/hooks.h
have the conventions). Needs numpy and nothing else.

    with Engine() as engine:
        engine.load_plan("plan/plan.json")
        engine.load_weights("model.safetensors")
        engine.bind_input("input_ids", ids)
        engine.bind_input("positions", positions)
        engine.run(len(ids))
        logits = engine.output("logits")

The library is looked for in $LAYLINE_LIBRARY and where layline_library.py says.
Failures raise Error with the library's text. An engine is used by one thread at a
time; while it runs other Python threads go on.
"""

import ctypes
import os
from collections import namedtuple
from ctypes import (
    POINTER, Structure, byref, c_char, c_char_p, c_double, c_int, c_int32,
    c_int64, c_size_t, c_void_p)

import numpy as np

import layline_hooks
from layline_hooks import (
    DECLINED, Attention, CacheRequest, Gemm, Pages, DTYPES as _DTYPES)
from layline_library import load_library

__all__ = ["Attention", "CacheInfo", "CacheRequest", "DECLINED", "Engine",
           "Error", "Gemm", "Pages", "check_plan"]

_OK, _BAD_ARGUMENT = 0, 1
_PRECISIONS = {"f32": 0, "f64": 1, "bf16": 2}
_LISTS = {"inputs": 0, "caches": 1, "outputs": 2, "weights": 3, "variants": 4}


class Error(Exception):
    """A failure of the library: `status` is its kind, the text says where, what
    was found and what was expected."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


CacheInfo = namedtuple("CacheInfo", "id plane layer is_integer row_shape")


# --- The C structs ----------------------------------------------------------

class _Options(Structure):
    _fields_ = [("size", c_size_t), ("precision", c_int), ("device", c_char_p),
                ("taps", c_int32), ("poison", c_int32),
                ("transport", c_char_p), ("timeout", c_double),
                ("by_switch", c_int32),
                # Fields of later versions keep their defaults.
                ("_later", c_char * 256)]


class _Shape(Structure):
    _fields_ = [("rank", c_int32), ("dims", c_int64 * 8)]


class _CacheInfo(Structure):
    _fields_ = [("id", c_char_p), ("plane", c_char_p), ("layer", c_int64),
                ("is_integer", c_int32), ("row_shape", _Shape)]


_ENGINE, _ID = c_void_p, c_char_p
#: Arguments of the functions that return a status, without "layline_".
_FUNCTIONS = {
    "engine_create": [POINTER(_Options), POINTER(c_void_p)],
    "plan_load": [_ENGINE, c_char_p],
    "plan_check": [c_char_p, POINTER(c_void_p)],
    "plan_ranks": [_ENGINE, POINTER(c_int64)],
    "plan_symbol": [_ENGINE, c_char_p, POINTER(c_int64), POINTER(c_int64)],
    "plan_variant": [_ENGINE, c_int64, POINTER(c_char_p)],
    "plan_count": [_ENGINE, c_int, POINTER(c_int64)],
    "plan_id": [_ENGINE, c_int, c_int64, POINTER(c_char_p)],
    "plan_cache": [_ENGINE, c_int64, POINTER(_CacheInfo)],
    "weights_load": [_ENGINE, c_char_p],
    "weight_bind": [_ENGINE, _ID, c_int, POINTER(_Shape), c_void_p],
    "weights_check": [_ENGINE],
    "input_bind": [_ENGINE, _ID, c_void_p, c_int64],
    "cache_bind": [_ENGINE, _ID, c_int, c_void_p, c_int64],
    "cache_read": [_ENGINE, _ID, c_int, c_void_p, c_int64],
    "past_set": [_ENGINE, c_int64],
    "past_get": [_ENGINE, POINTER(c_int64)],
    "run": [_ENGINE, c_int64],
    "output_shape": [_ENGINE, _ID, POINTER(_Shape)],
    "output_read_rows": [_ENGINE, _ID, c_int64, c_int64, c_int, c_void_p,
                         c_int64],
    "gemm_set": [_ENGINE, layline_hooks.GemmFunction, c_void_p],
    "attention_set": [_ENGINE, layline_hooks.AttentionFunction, c_void_p],
    "cache_hooks_set": [_ENGINE, _ID, POINTER(layline_hooks.CacheHooks)],
    "trace_begin": [_ENGINE],
    "trace_end": [_ENGINE],
    "trace_write": [_ENGINE, c_char_p],
}

_library = None


def _get_library():
    global _library
    if _library is not None:
        return _library
    library = load_library("liblayline_runtime.so", "0", "LAYLINE_LIBRARY")
    for function, arguments in _FUNCTIONS.items():
        entry = getattr(library, "layline_" + function)
        entry.argtypes = arguments
        entry.restype = c_int
    library.layline_options_init.argtypes = [POINTER(_Options)]
    library.layline_options_init.restype = None
    library.layline_engine_create_error.argtypes = []
    library.layline_engine_create_error.restype = c_char_p
    library.layline_engine_destroy.argtypes = [c_void_p]
    library.layline_engine_destroy.restype = None
    library.layline_engine_error.argtypes = [c_void_p]
    library.layline_engine_error.restype = c_char_p
    library.layline_status_name.argtypes = [c_int]
    library.layline_status_name.restype = c_char_p
    library.layline_string_free.argtypes = [c_void_p]
    library.layline_string_free.restype = None
    _library = library
    return library


def _status_name(status):
    return _get_library().layline_status_name(status).decode()


def check_plan(path):
    """What is wrong with a plan, a line for each finding; empty: it is good."""
    library = _get_library()
    report = c_void_p()
    status = library.layline_plan_check(os.fsencode(path), byref(report))
    try:
        text = ctypes.string_at(report).decode() if report else ""
    finally:
        library.layline_string_free(report)
    if status != _OK and not text:
        text = _status_name(status)
    return text.splitlines()


class Engine:
    """One plan with its weights and caches. `precision` is "f32", "f64" or
    "bf16" (emulated). `transport` "mpi": this process is one rank of those
    that mpirun started; `timeout` is how many seconds a rank waits for another
    one, 0 the default. `by_switch`: device "cuda" has collectives summed and
    replicated by the cards' switch where that can."""

    def __init__(self, precision="f32", device="cpu", transport="threads",
                 timeout=0, by_switch=False):
        library = _get_library()
        if precision not in _PRECISIONS:
            raise ValueError(f"precision: found {precision!r}, expected one of "
                             f"{', '.join(_PRECISIONS)}")
        options = _Options()
        library.layline_options_init(byref(options))
        options.precision = _PRECISIONS[precision]
        self._device = device.encode()
        options.device = self._device
        self._transport = transport.encode()
        options.transport = self._transport
        options.timeout = timeout
        options.by_switch = by_switch
        self._engine = c_void_p()
        # What C calls must live as long as it may be called.
        self._gemm = layline_hooks.GemmFunction()
        self._attention = layline_hooks.AttentionFunction()
        self._caches = {}
        status = library.layline_engine_create(byref(options),
                                               byref(self._engine))
        if status != _OK:
            raise Error(_status_name(status),
                        library.layline_engine_create_error().decode())

    def close(self):
        if self._engine:
            _get_library().layline_engine_destroy(self._engine)
            self._engine = c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if getattr(self, "_engine", None):
            self.close()

    def _call(self, function, *arguments):
        library = _get_library()
        status = getattr(library, "layline_" + function)(
            self._engine, *arguments)
        if status != _OK:
            text = (library.layline_engine_error(self._engine).decode()
                    if self._engine else "the engine is closed")
            raise Error(_status_name(status), text)

    def _number(self, function, *arguments):
        result = c_int64()
        self._call(function, *arguments, byref(result))
        return result.value

    # --- Plan ---

    def load_plan(self, path):
        self._call("plan_load", os.fsencode(path))

    @property
    def ranks(self):
        return self._number("plan_ranks")

    def symbol(self, name):
        """(least, largest) of "tokens" or "past"."""
        least, largest = c_int64(), c_int64()
        self._call("plan_symbol", name.encode(), byref(least), byref(largest))
        return least.value, largest.value

    def variant(self, tokens):
        """Id of the plan's program for so many tokens."""
        result = c_char_p()
        self._call("plan_variant", tokens, byref(result))
        return result.value.decode()

    def ids(self, what):
        """Ids of "inputs", "caches", "outputs" or "variants", or the
        safetensors keys of "weights"."""
        if what not in _LISTS:
            raise ValueError(f"found {what!r}, expected one of "
                             f"{', '.join(_LISTS)}")
        names = []
        for index in range(self._number("plan_count", _LISTS[what])):
            name = c_char_p()
            self._call("plan_id", _LISTS[what], index, byref(name))
            names.append(name.value.decode())
        return names

    def caches(self):
        infos = []
        for index in range(self._number("plan_count", _LISTS["caches"])):
            info = _CacheInfo()
            self._call("plan_cache", index, byref(info))
            shape = tuple(info.row_shape.dims[:info.row_shape.rank])
            infos.append(CacheInfo(info.id.decode(), info.plane.decode(),
                                   info.layer, bool(info.is_integer), shape))
        return infos

    # --- Weights and inputs ---

    def load_weights(self, path):
        self._call("weights_load", os.fsencode(path))

    def bind_weight(self, key, values):
        """An array of float32, float64 or float16, in its stored shape."""
        values = np.ascontiguousarray(values)
        if values.dtype not in _DTYPES or values.dtype == np.int64:
            raise TypeError(f"{key}: is {values.dtype}; float32, float64 or "
                            "float16 is expected")
        if values.ndim > 8:
            raise ValueError(f"{key}: has {values.ndim} dimensions; at most 8 "
                             "are expected")
        shape = _Shape(values.ndim, values.shape)
        self._call("weight_bind", key.encode(), _DTYPES[values.dtype],
                   byref(shape), values.ctypes.data)

    def check_weights(self):
        self._call("weights_check")

    def bind_input(self, name, values):
        values = np.ascontiguousarray(values)
        if not np.issubdtype(values.dtype, np.integer):
            raise TypeError(f"{name}: is {values.dtype}; integers are expected")
        values = values.astype(np.int64, copy=False)
        self._call("input_bind", name.encode(), values.ctypes.data, values.size)

    # --- Caches ---

    @property
    def past(self):
        return self._number("past_get")

    @past.setter
    def past(self, rows):
        self._call("past_set", rows)

    def _cache(self, name):
        for info in self.caches():
            if info.id == name:
                return info
        raise Error(_status_name(_BAD_ARGUMENT), f"the plan has no cache '{name}'")

    def bind_cache(self, name, rows):
        """Replaces the rows: [rows, row shape...]."""
        info = self._cache(name)
        rows = np.ascontiguousarray(
            rows, np.int64 if info.is_integer else np.float64)
        if rows.shape[1:] != info.row_shape:
            raise ValueError(f"{name}: rows have shape {rows.shape[1:]}; "
                             f"{info.row_shape} is expected")
        self._call("cache_bind", name.encode(), _DTYPES[rows.dtype],
                   rows.ctypes.data, len(rows))

    def read_cache(self, name):
        info = self._cache(name)
        rows = np.empty((self.past, *info.row_shape),
                        np.int64 if info.is_integer else np.float64)
        self._call("cache_read", name.encode(), _DTYPES[rows.dtype],
                   rows.ctypes.data, rows.size)
        return rows

    # --- Run ---

    def run(self, tokens):
        self._call("run", tokens)

    def output(self, name, first=0, rows=None, dtype=np.float32):
        """An output of the last run, or rows [first, first + rows) of it."""
        shape = _Shape()
        self._call("output_shape", name.encode(), byref(shape))
        dims = list(shape.dims[:shape.rank])
        dims[0] = dims[0] - first if rows is None else rows
        values = np.empty([max(d, 0) for d in dims], dtype)
        if values.dtype not in _DTYPES:
            raise TypeError(f"dtype: found {values.dtype}, expected float32, "
                            "float64 or int64")
        self._call("output_read_rows", name.encode(), first, dims[0],
                   _DTYPES[values.dtype], values.ctypes.data, values.size)
        return values

    # --- What the engine does itself (layline_hooks.py) ---

    def _need_host_memory(self, *functions):
        """Functions of Python get arrays: memory of a card is none."""
        if any(functions) and self._device == b"cuda":
            raise ValueError("device: found 'cuda', whose memory numpy cannot "
                             "reach; functions of Python are for devices of "
                             "the host, 'cpu' and 'simt'")

    def set_gemm(self, function):
        """function(Gemm) writes c, or returns DECLINED. None: the runtime's own
        products."""
        self._need_host_memory(function)
        wrapped = (layline_hooks.wrap_gemm(function) if function
                   else layline_hooks.GemmFunction())
        self._call("gemm_set", wrapped, None)
        self._gemm = wrapped  # C calls it from now on

    def set_attention(self, function):
        """function(Attention) writes output, or returns DECLINED. None: the
        runtime's own attention."""
        self._need_host_memory(function)
        wrapped = (layline_hooks.wrap_attention(function) if function
                   else layline_hooks.AttentionFunction())
        self._call("attention_set", wrapped, None)
        self._attention = wrapped

    def set_cache_hooks(self, cache=None, pages=None, append=None, read=None):
        """The rows of a cache, or of all (None), are the caller's: in its pages,
        used in place, pages(CacheRequest) -> Pages; or behind
        append(CacheRequest, rows) and read(CacheRequest, rows), which writes
        rows, arrays [rows, items, item_elements]. Without functions they are
        the runtime's again. `past` becomes 0. Set anew after each load_plan."""
        hooks = None
        self._need_host_memory(pages, append, read)
        if pages or append or read:
            hooks = layline_hooks.wrap_cache_hooks(pages, append, read)
        self._call("cache_hooks_set", cache.encode() if cache else None,
                   byref(hooks[0]) if hooks else None)
        if cache is None:
            self._caches.clear()
        self._caches[cache] = hooks

    # --- Trace ---

    def begin_trace(self):
        self._call("trace_begin")

    def end_trace(self):
        self._call("trace_end")

    def write_trace(self, path):
        self._call("trace_write", os.fsencode(path))
