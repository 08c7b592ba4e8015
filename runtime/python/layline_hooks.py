"""What an engine does itself while a plan runs, in Python: the callbacks of
layline/hooks.h with numpy arrays over the memory that C hands over.

`layline.Engine` takes the functions. They run on the threads of the ranks, one
at a time (the interpreter's lock). Arrays that they get are valid until they
return. What they raise fails the run with its text; nothing crosses into C.
"""

import ctypes
from collections import namedtuple
from ctypes import (
    CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_double, c_int, c_int32,
    c_int64, c_size_t, c_void_p)

import numpy as np

#: What a function returns to leave a product or an attention to the runtime.
DECLINED = object()

_OK, _RUN_FAILURE, _DECLINED = 0, 8, 12
DTYPES = {np.dtype(np.float32): 0, np.dtype(np.float64): 1,
          np.dtype(np.int64): 2, np.dtype(np.float16): 3}
_BY_NUMBER = {number: dtype for dtype, number in DTYPES.items()}

#: A product that a GEMM function is asked for: c[...] = a @ b.T for the arrays
#: as they are given; `weight` is the safetensors key of b, `expert` which of a
#: stack or -1, `step` and `place` where in the plan.
Gemm = namedtuple("Gemm", "a b c weight expert rank step place")

#: What an attention function is asked for: output[t, h] for query[t, h], over
#: the rows of keys and values [rows, items, width] that layline/hooks.h says
#: are visible; query head h reads item key_head[h] of keys and value_head[h] of
#: values. `window` 0, `softcap` 0 and `sinks` None: there is none.
Attention = namedtuple(
    "Attention", "query output keys values key_head value_head positions "
    "key_positions scale causal window softcap sinks rank step place")

#: Rows [first, first + rows) of one cache on one rank; each has `items` items of
#: `item_elements` elements of `dtype`.
CacheRequest = namedtuple(
    "CacheRequest", "cache plane layer rank dtype items item_elements first rows")

#: Where rows of a cache lie, as a `pages` function says it: `memory` is an array
#: [pages, rows of a page, items, item_elements] of the request's dtype, whose
#: last dimension is contiguous; a view with other dimensions exchanged will do.
#: `table`: int32, the page of rows [j * rows of a page, ...) is memory[table[j]].
Pages = namedtuple("Pages", "memory table")


# --- The C structs ----------------------------------------------------------

class _Call(Structure):
    _fields_ = [("size", c_size_t), ("step", c_char_p), ("kind", c_char_p),
                ("place", c_char_p), ("rank", c_int64), ("stream", c_void_p),
                ("message", c_void_p), ("message_bytes", c_size_t)]


class _GemmCall(Structure):
    _fields_ = [("size", c_size_t), ("call", POINTER(_Call)), ("m", c_int64),
                ("n", c_int64), ("k", c_int64), ("a_dtype", c_int),
                ("b_dtype", c_int), ("c_dtype", c_int), ("a", c_void_p),
                ("lda", c_int64), ("transpose_a", c_int32), ("b", c_void_p),
                ("ldb", c_int64), ("transpose_b", c_int32), ("c", c_void_p),
                ("ldc", c_int64), ("alpha", c_double), ("beta", c_double),
                ("weight", c_char_p), ("expert", c_int64)]


class _Pages(Structure):
    _fields_ = [("size", c_size_t), ("base", c_void_p), ("table", c_void_p),
                ("table_count", c_int64), ("page_rows", c_int64),
                ("page_stride", c_int64), ("row_stride", c_int64),
                ("item_stride", c_int64)]


class _AttentionCall(Structure):
    _fields_ = [("size", c_size_t), ("call", POINTER(_Call)), ("dtype", c_int),
                ("query_rows", c_int64), ("key_rows", c_int64),
                ("heads", c_int64), ("width", c_int64),
                ("value_width", c_int64), ("query", c_void_p),
                ("output", c_void_p), ("keys", _Pages), ("values", _Pages),
                ("key_head", c_void_p), ("value_head", c_void_p),
                ("positions", c_void_p), ("key_positions", c_void_p),
                ("scale", c_double), ("causal", c_int32), ("window", c_int64),
                ("softcap", c_double), ("sinks", c_void_p)]


class _CacheRequest(Structure):
    _fields_ = [("size", c_size_t), ("cache", c_char_p), ("plane", c_char_p),
                ("layer", c_int64), ("rank", c_int64), ("dtype", c_int),
                ("items", c_int64), ("item_elements", c_int64),
                ("first", c_int64), ("rows", c_int64), ("message", c_void_p),
                ("message_bytes", c_size_t)]


GemmFunction = CFUNCTYPE(c_int, c_void_p, POINTER(_GemmCall))
AttentionFunction = CFUNCTYPE(c_int, c_void_p, POINTER(_AttentionCall))
_PagesFunction = CFUNCTYPE(c_int, c_void_p, POINTER(_CacheRequest),
                           POINTER(_Pages))
_RowsFunction = CFUNCTYPE(c_int, c_void_p, POINTER(_CacheRequest), c_void_p)


class CacheHooks(Structure):
    _fields_ = [("size", c_size_t), ("user", c_void_p),
                ("pages", _PagesFunction), ("append", _RowsFunction),
                ("read", _RowsFunction)]


# --- Memory as arrays; nothing is copied ------------------------------------

def _array(address, dtype, shape, strides=None, writeable=False):
    """Strides count elements."""
    shape, dtype = tuple(shape), np.dtype(dtype)
    if not address or 0 in shape:
        return np.empty(shape, dtype)
    if strides is None:
        strides = [int(np.prod(shape[i + 1:])) for i in range(len(shape))]
    count = 1 + sum((n - 1) * s for n, s in zip(shape, strides))
    memory = (c_char * (count * dtype.itemsize)).from_address(address)
    return np.lib.stride_tricks.as_strided(
        np.frombuffer(memory, dtype), shape, [s * dtype.itemsize for s in strides],
        writeable=writeable)


def _rows(pages, rows, items, width, dtype):
    """Rows of a cache [rows, items, width]; those of several pages are copied
    together."""
    parts = []
    for first in range(0, rows, pages.page_rows):
        page = first // pages.page_rows
        if pages.table:
            page = c_int32.from_address(pages.table + 4 * page).value
        parts.append(_array(
            pages.base + page * pages.page_stride * dtype.itemsize, dtype,
            (min(pages.page_rows, rows - first), items, width),
            (pages.row_stride, pages.item_stride, 1)))
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty((0, items, width), dtype)


# --- Python functions as C calls them ---------------------------------------

def _guarded(where, body):
    """A status for what body() does; what it raises is written to `where`."""
    try:
        return _DECLINED if body() is DECLINED else _OK
    except BaseException as error:  # none may cross into C
        text = f"{type(error).__name__}: {error}".encode()
        text = text[:max(where.message_bytes, 1) - 1] + b"\0"
        if where.message and where.message_bytes:
            ctypes.memmove(where.message, text, len(text))
        return _RUN_FAILURE


def wrap_gemm(function):
    def run(gemm, where):
        # The runtime asks for a @ b.T; other forms are left to it.
        if (gemm.transpose_a or not gemm.transpose_b or gemm.alpha != 1
                or gemm.beta != 0):
            return DECLINED
        a = _array(gemm.a, _BY_NUMBER[gemm.a_dtype], (gemm.m, gemm.k), (gemm.lda, 1))
        b = _array(gemm.b, _BY_NUMBER[gemm.b_dtype], (gemm.n, gemm.k), (gemm.ldb, 1))
        c = _array(gemm.c, _BY_NUMBER[gemm.c_dtype], (gemm.m, gemm.n), (gemm.ldc, 1),
                   writeable=True)
        return function(Gemm(a, b, c, gemm.weight.decode(), gemm.expert, where.rank,
                             where.step.decode(), where.place.decode()))

    def call(_, pointer):
        where = pointer.contents.call.contents
        return _guarded(where, lambda: run(pointer.contents, where))
    return GemmFunction(call)


def wrap_attention(function):
    def run(asked, where):
        dtype = _BY_NUMBER[asked.dtype]
        heads = (asked.heads,)
        query = (asked.query_rows, asked.heads, asked.width)
        key_head = _array(asked.key_head, np.int32, heads)
        value_head = _array(asked.value_head, np.int32, heads)
        # A rank holds the items that its query heads read, in one run.
        items = [int(of.max()) + 1 if of.size else 0 for of in (key_head, value_head)]
        return function(Attention(
            _array(asked.query, dtype, query),
            _array(asked.output, dtype, (*query[:2], asked.value_width), writeable=True),
            _rows(asked.keys, asked.key_rows, items[0], asked.width, dtype),
            _rows(asked.values, asked.key_rows, items[1], asked.value_width, dtype),
            key_head, value_head, _array(asked.positions, np.int64, query[:1]),
            _array(asked.key_positions, np.int64, (asked.key_rows,)), asked.scale,
            bool(asked.causal), asked.window, asked.softcap,
            _array(asked.sinks, dtype, heads) if asked.sinks else None, where.rank,
            where.step.decode(), where.place.decode()))

    def call(_, pointer):
        where = pointer.contents.call.contents
        return _guarded(where, lambda: run(pointer.contents, where))
    return AttentionFunction(call)


def _request(asked):
    return CacheRequest(asked.cache.decode(), asked.plane.decode(), asked.layer,
                        asked.rank, _BY_NUMBER[asked.dtype], asked.items,
                        asked.item_elements, asked.first, asked.rows)


def _place_pages(function, kept, asked, pages):
    request = _request(asked)
    memory, table = function(request)
    expected = f"an array [pages, rows, {request.items}, {request.item_elements}]"
    if not isinstance(memory, np.ndarray) or memory.ndim != 4 or \
            memory.shape[2:] != (request.items, request.item_elements):
        raise ValueError(f"{request.cache}: memory is {getattr(memory, 'shape', memory)}; "
                         f"{expected} is expected")
    if memory.dtype != request.dtype:
        raise TypeError(f"{request.cache}: memory is {memory.dtype}; {request.dtype} "
                        "is expected")
    if not memory.flags.writeable:
        raise ValueError(f"{request.cache}: memory is read-only")
    size = memory.dtype.itemsize
    if memory.strides[3] != size or any(s % size for s in memory.strides):
        raise ValueError(f"{request.cache}: strides are {memory.strides} bytes; elements "
                         "of an item one behind another are expected")
    table = np.ascontiguousarray(table, np.int32)
    if table.size and not 0 <= table.min() <= table.max() < len(memory):
        raise ValueError(f"{request.cache}: the table names pages {table.min()} to "
                         f"{table.max()} of {len(memory)}")
    # C reads and writes them until the run has returned.
    kept[request.cache, request.rank] = memory, table
    pages.base, pages.table = memory.ctypes.data, table.ctypes.data
    pages.table_count, pages.page_rows = table.size, memory.shape[1]
    pages.page_stride, pages.row_stride, pages.item_stride = (
        s // size for s in memory.strides[:3])


def wrap_cache_hooks(pages, append, read):
    """The C struct, and what must live as long as it is set."""
    kept = {}

    def place(_, request, target):
        return _guarded(request.contents, lambda: _place_pages(
            pages, kept, request.contents, target.contents))

    def rows_of(function, writeable):
        def call(_, request, data):
            asked = request.contents

            def run():
                rows = _array(data, _BY_NUMBER[asked.dtype],
                              (asked.rows, asked.items, asked.item_elements),
                              writeable=writeable)
                function(_request(asked), rows)
            return _guarded(asked, run)
        return _RowsFunction(call)

    hooks = CacheHooks(ctypes.sizeof(CacheHooks))
    if pages:
        hooks.pages = _PagesFunction(place)
    if append:
        hooks.append = rows_of(append, False)
    if read:
        hooks.read = rows_of(read, True)
    return hooks, kept
