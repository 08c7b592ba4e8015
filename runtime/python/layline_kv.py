"""KV migrations from Python: plans (kv.json) bound to page tables, descriptors
as numpy arrays.

A thin layer over liblayline_kv.so (layline/kv.h has the conventions): arrays
that are given are read where they lie, arrays that come back are written by the
library. Needs numpy and nothing else.

    plan = Plan.load("kv.json")
    source = Memory(addresses, [pages])        # uint64, int32
    target = Memory(addresses, [pages])
    binding = plan.bind(Request(tokens), 0, 2, source, target)
    src, dst, length = binding.fill()

The library is looked for in $LAYLINE_KV_LIBRARY and where layline_library.py
says. Failures of the library raise Error with its text.
"""

import ctypes
import functools
import os
from collections import namedtuple
from ctypes import (
    CFUNCTYPE, POINTER, Structure, byref, c_char, c_char_p, c_int, c_int32,
    c_int64, c_size_t, c_uint32, c_uint64, c_void_p)

import numpy as np

from layline_library import load_library

__all__ = [
    "Binding", "Buffer", "Error", "Lifetime", "Memory", "Packing", "Part",
    "PartSlot", "Plan", "Plane", "REPORTS", "Rank", "Request", "Responder",
    "Round", "SOURCE", "Side", "Slot", "TARGET", "Transfer", "VISIT",
    "pages_of_slots", "striped_pages"]

SOURCE, TARGET = 0, 1

#: Where a part packs, by number.
PACKING = ("none", "source", "target", "both")

#: What a responder reports, by bit.
REPORTS = ("main", "index", "state", "auxiliary")


class Error(Exception):
    """A failure of the library: `status` is its kind, the text says where, what
    was found and what was expected."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


Plane = namedtuple(
    "Plane", "name dtype heads head_bytes window is_state layers")
Buffer = namedtuple("Buffer", "name layer table page_bytes")
Transfer = namedtuple(
    "Transfer", "source target packing batches_by_layer with_last_chunk")
Part = namedtuple(
    "Part", "first descriptors first_batch batches packing with_last_chunk")
Responder = namedtuple("Responder", "source key completions reports")
Lifetime = namedtuple(
    "Lifetime", "store name from_moment until after_failure reuse")
Slot = namedtuple("Slot", "at source target lane bytes max_descriptors")
PartSlot = namedtuple("PartSlot", "bytes max_descriptors lane")
Round = namedtuple("Round", "first_block blocks bytes descriptors")

BATCH = np.dtype(
    [("first", np.int64), ("descriptors", np.int64), ("bytes", np.int64),
     ("with_last_chunk", np.int32)], align=True)
REGION = np.dtype(
    [("source", np.uint64), ("target", np.uint64), ("bytes", np.uint64),
     ("inner", np.int64), ("source_step", np.int64), ("target_step", np.int64),
     ("outer", np.int64), ("source_jump", np.int64),
     ("target_jump", np.int64)])


# --- The C structs of layline/kv.h ------------------------------------------

class _PlanInfo(Structure):
    _fields_ = [("model", c_char_p), ("profile", c_char_p),
                ("planes", c_int64), ("transfers", c_int64),
                ("max_descriptors", c_int64), ("slot_bytes", c_int64),
                ("rounds_to_pages", c_int32)]


class _PlaneInfo(Structure):
    _fields_ = [("name", c_char_p), ("dtype", c_char_p), ("heads", c_int64),
                ("head_bytes", c_int64), ("window", c_int64),
                ("is_state", c_int32), ("layers", c_int64),
                ("layer_ids", POINTER(c_int64))]


class _SideInfo(Structure):
    _fields_ = [("spec", c_char_p), ("page_tokens", c_int64),
                ("ranks", c_int64), ("tables", c_int64)]


class _RankInfo(Structure):
    _fields_ = [("pp", c_int64), ("dp", c_int64), ("cp", c_int64),
                ("tp", c_int64), ("buffers", c_int64)]


class _BufferInfo(Structure):
    _fields_ = [("name", c_char_p), ("layer", c_int64), ("table", c_int64),
                ("page_bytes", c_int64)]


class _TransferInfo(Structure):
    _fields_ = [("source", c_int64), ("target", c_int64), ("packing", c_int),
                ("batches_by_layer", c_int32), ("with_last_chunk", c_int32)]


class _ResponderInfo(Structure):
    _fields_ = [("source", c_int64), ("key", c_char_p),
                ("completions", c_int64), ("reports", c_uint32)]


class _LifetimeInfo(Structure):
    _fields_ = [("store", c_char_p), ("name", c_char_p), ("moment", c_char_p),
                ("until", c_char_p), ("after_failure", c_char_p),
                ("reuse", c_char_p)]


class _SlotInfo(Structure):
    _fields_ = [("at", c_int32), ("source", c_int64), ("target", c_int64),
                ("lane", c_int64), ("bytes", c_int64),
                ("max_descriptors", c_int64)]


class _PartSlot(Structure):
    _fields_ = [("bytes", c_int64), ("max_descriptors", c_int64),
                ("lane", c_int64)]


_Digest = c_char * 65


class Request(Structure):
    """What is known of a request when a plan is bound. Counts of tokens; the
    chunk is [begin, end), the whole request unless it is given."""

    # layline_kv_request itself: nothing is converted when a plan is bound.
    _fields_ = [("_size", c_size_t), ("tokens", c_int64), ("begin", c_int64),
                ("end", c_int64), ("is_last", c_int32), ("prefix", c_int64),
                ("room", c_int64)]

    def __init__(self, tokens, begin=0, end=None, is_last=None, prefix=0,
                 room=0):
        if end is None:
            end = tokens
        if is_last is None:
            is_last = end == tokens
        super().__init__(ctypes.sizeof(Request), tokens, begin, end,
                         int(is_last), prefix, room)


class _Memory(Structure):
    _fields_ = [("size", c_size_t), ("buffers", c_void_p),
                ("buffer_count", c_int64), ("tables", POINTER(c_void_p)),
                ("table_pages", POINTER(c_int64)), ("table_count", c_int64),
                ("pool_pages", POINTER(c_int64)),
                ("first_pages", POINTER(c_int64))]


class _Counts(Structure):
    _fields_ = [("descriptors", c_int64), ("regions", c_int64),
                ("batches", c_int64), ("parts", c_int64), ("bytes", c_int64)]


class _Batch(Structure):
    _fields_ = [("first", c_int64), ("descriptors", c_int64),
                ("bytes", c_int64), ("with_last_chunk", c_int32)]


class _Part(Structure):
    _fields_ = [("first", c_int64), ("descriptors", c_int64),
                ("first_batch", c_int64), ("batches", c_int64),
                ("packing", c_int), ("with_last_chunk", c_int32)]


class _Round(Structure):
    _fields_ = [("first_block", c_int64), ("blocks", c_int64),
                ("bytes", c_int64), ("descriptors", c_int64)]


#: layline_kv_visit.
VISIT = CFUNCTYPE(c_int, c_void_p, POINTER(_Batch), c_int64, c_int64,
                   c_void_p, c_void_p, c_void_p)

# By function: the types of its arguments; every one returns a status.
_FUNCTIONS = {
    "plan_load": [c_char_p, POINTER(c_void_p)],
    "plan_load_memory": [c_char_p, c_size_t, c_char_p, POINTER(c_void_p)],
    "plan_get": [c_void_p, POINTER(_PlanInfo)],
    "plan_plane": [c_void_p, c_int64, POINTER(_PlaneInfo)],
    "plan_side": [c_void_p, c_int, POINTER(_SideInfo)],
    "plan_rank": [c_void_p, c_int, c_int64, POINTER(_RankInfo)],
    "plan_buffer": [c_void_p, c_int, c_int64, c_int64, POINTER(_BufferInfo)],
    "plan_table": [c_void_p, c_int, c_int64, POINTER(c_char_p)],
    "plan_pair": [c_void_p, c_int64, c_int64, POINTER(c_int64),
                  POINTER(c_int64)],
    "plan_first_page": [c_void_p, POINTER(Request), c_int, c_int64, c_int64,
                        POINTER(c_int64)],
    "plan_page_parts": [c_void_p, c_int, c_int64, POINTER(c_int64),
                        POINTER(c_int64)],
    "pages_of_slots": [c_void_p, c_int64, c_int64, c_void_p, c_int64,
                       POINTER(c_int64)],
    "striped_pages": [c_void_p, c_int64, c_int64, c_int64, c_void_p, c_void_p,
                      c_int64, POINTER(c_int64)],
    "plan_transfer": [c_void_p, c_int64, POINTER(_TransferInfo)],
    "plan_responders": [c_void_p, c_int64, c_void_p, c_int64,
                        POINTER(c_int64)],
    "plan_responder": [c_void_p, c_int64, c_int64, POINTER(_ResponderInfo)],
    "plan_lifetimes": [c_void_p, POINTER(c_int64)],
    "plan_lifetime": [c_void_p, c_int64, POINTER(_LifetimeInfo)],
    "plan_slots": [c_void_p, POINTER(c_int64)],
    "plan_slot": [c_void_p, c_int64, POINTER(_SlotInfo)],
    "plan_page_digest": [c_void_p, c_int32, c_int64, c_int64,
                         POINTER(_Digest)],
    "plan_layers_digest": [c_void_p, c_int32, c_int64, c_char_p,
                           POINTER(_Digest)],
    "plan_pages": [c_void_p, POINTER(Request), c_int, c_int64, c_int64,
                   POINTER(c_int64)],
    "bind": [c_void_p, POINTER(Request), c_int64, c_int64, POINTER(_Memory),
             POINTER(_Memory), POINTER(c_void_p)],
    "binding_counts": [c_void_p, POINTER(_Counts)],
    "binding_equal_bytes": [c_void_p, POINTER(c_int64)],
    "binding_batches": [c_void_p, c_int64, c_int64, c_void_p],
    "binding_part": [c_void_p, c_int64, POINTER(_Part)],
    "binding_part_slot": [c_void_p, c_int64, POINTER(_PartSlot)],
    "fill": [c_void_p, c_int64, c_int64, c_void_p, c_void_p, c_void_p,
             c_int32],
    "fill_rows": [c_void_p, c_int64, c_int64, c_uint64, c_uint64, c_void_p,
                  c_void_p, c_int32],
    "regions": [c_void_p, c_int64, c_int64, c_void_p],
    "for_each_batch": [c_void_p, c_int64, c_int32, VISIT, c_void_p],
    "packing_create": [c_void_p, c_int64, c_int64, c_int64,
                       POINTER(c_void_p)],
    "packing_rounds": [c_void_p, POINTER(c_int64)],
    "packing_round": [c_void_p, c_int64, POINTER(_Round)],
    "pack": [c_void_p, c_int64, c_void_p, c_size_t, c_int32],
    "unpack": [c_void_p, c_int64, c_void_p, c_size_t, c_int32],
    "packing_descriptors": [c_void_p, c_int64, c_uint64, c_uint64, c_void_p,
                            c_void_p, c_void_p, c_int64],
}

_U8, _I32 = np.dtype(np.uint8), np.dtype(np.int32)
_I64, _U64 = np.dtype(np.int64), np.dtype(np.uint64)
_library = None
_functions = {}  # by name, without "layline_kv_"
_destroy = {}  # by kind of handle


def _get_library():
    global _library
    if _library is not None:
        return _library
    library = load_library("liblayline_kv.so", "1", "LAYLINE_KV_LIBRARY")
    for function, arguments in _FUNCTIONS.items():
        entry = getattr(library, "layline_kv_" + function)
        entry.argtypes = arguments
        entry.restype = c_int
        _functions[function] = entry
    for function in ("error", "status_name", "format_version"):
        getattr(library, "layline_kv_" + function).restype = c_char_p
    library.layline_kv_status_name.argtypes = [c_int]
    for handle in ("plan", "binding", "packing"):
        destroy = getattr(library, f"layline_kv_{handle}_destroy")
        destroy.argtypes = [c_void_p]
        destroy.restype = None
        _destroy[handle] = destroy
    _library = library
    return library


def _call(function, *arguments):
    if _library is None:
        _get_library()
    status = _functions[function](*arguments)
    if status != 0:
        raise Error(_library.layline_kv_status_name(status).decode(),
                    _library.layline_kv_error().decode())


def _ask(function, result, *arguments):
    """Calls a function whose last argument is the result; returns that."""
    _call(function, *arguments, byref(result))
    return result


def _is_usable(array, dtype):
    """An array that the library can use where it lies."""
    return (isinstance(array, np.ndarray)
            and (array.dtype is dtype or array.dtype == dtype)
            and array.flags.c_contiguous)


def _expect(array, dtype, what, shape=None):
    """The array, if the library can use it."""
    if not isinstance(array, np.ndarray) or array.dtype != dtype:
        found = getattr(array, "dtype", type(array).__name__)
        raise TypeError(f"{what}: is {found}; a numpy array of "
                        f"{dtype} is expected")
    if not array.flags.c_contiguous:
        raise ValueError(f"{what}: is not contiguous")
    if shape is not None and array.shape != shape:
        raise ValueError(
            f"{what}: has shape {array.shape}; {shape} is expected")
    return array


def _address(array):
    """Where its elements lie."""
    try:  # ten times faster than what follows
        return ctypes.addressof(c_char.from_buffer(array))
    except (TypeError, ValueError):  # read-only, or empty
        return array.ctypes.data


def _expect_out(array, dtype, what, shape):
    if not _expect(array, dtype, what, shape).flags.writeable:
        raise ValueError(f"{what}: is read-only")
    return array


class _Handle:
    """Owns a handle of the library."""

    _kind = None  # of layline_kv_<kind>_destroy
    _handle = None

    def __init__(self, handle):
        self._handle = handle

    def close(self):
        """Frees it now; afterwards it cannot be used."""
        handle, self._handle = self._handle, None
        # At the end of a program modules are gone before what they made.
        if handle and _destroy:
            _destroy[self._kind](handle)

    def __del__(self):
        self.close()

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.close()

    def _use(self):
        if self._handle is None:
            raise ValueError(f"the {self._kind} is closed")
        return self._handle


class Memory:
    """What a rank has for a request.

    buffers     addresses of its buffers, uint64, in the order of Rank.buffers
    tables      one int32 array for each page table of the side: the pages of
                the request, in order
    pool_pages  how many pages the buffers of each table have, so that page
                numbers can be checked; 0: not known
    first_pages by table: how many pages of the request are in front of its
                first entry, because the target has them (Side.first_page)

    Of ranks that keep pages by their numbers (Rank.page_parts) a table is the
    one that their group shares. Arrays are read where they lie when a plan is bound. Buffers are a rank's for
    long, tables a request's: `set_tables` gives the next request's.
    """

    def __init__(self, buffers, tables, pool_pages=None, first_pages=None):
        if isinstance(buffers, (list, tuple)):
            buffers = np.array(buffers, np.uint64)
        self.buffers = _expect(buffers, _U64, "buffers")
        count = len(tables)
        if pool_pages is not None and len(pool_pages) != count:
            raise ValueError(f"pool_pages: has {len(pool_pages)} elements; "
                             f"{count} are expected")
        self._addresses = (c_void_p * count)()
        self._lengths = (c_int64 * count)()
        self._pools = (None if pool_pages is None
                       else (c_int64 * count)(*pool_pages))
        self._firsts = (c_int64 * count)()
        self._struct = _Memory(
            ctypes.sizeof(_Memory), _address(self.buffers),
            self.buffers.size, self._addresses, self._lengths, count,
            self._pools, None)
        self.set_tables(tables, first_pages)

    def set_tables(self, tables, first_pages=None):
        """Other pages, in as many tables."""
        if len(tables) != len(self._lengths):
            raise ValueError(f"tables: has {len(tables)} elements; "
                             f"{len(self._lengths)} are expected")
        self.tables = tuple(tables)  # they stay alive as long as their addresses
        for i, table in enumerate(self.tables):
            if not _is_usable(table, _I32):
                _expect(table, _I32, f"tables[{i}]")
            self._addresses[i] = _address(table)
            self._lengths[i] = table.size
        if first_pages is None:
            self._struct.first_pages = None
            return
        if len(first_pages) != len(self._lengths):
            raise ValueError(f"first_pages: has {len(first_pages)} elements; "
                             f"{len(self._lengths)} are expected")
        self._firsts[:] = list(first_pages)
        self._struct.first_pages = self._firsts


class Rank:
    """A rank of a side: coordinates, and the buffers whose addresses it has to
    give, in order. `page_parts`: (n, i) of one that keeps the pages whose number
    modulo n is i, else (1, 0)."""

    def __init__(self, plan, side, index):
        info = _ask("plan_rank", _RankInfo(), plan._use(), side, index)
        self.pp, self.dp, self.cp, self.tp = info.pp, info.dp, info.cp, info.tp
        parts, part = c_int64(), c_int64()
        _call("plan_page_parts", plan._use(), side, index, byref(parts),
              byref(part))
        self.page_parts = (parts.value, part.value)
        self.buffers = []
        for i in range(info.buffers):
            buffer = _ask("plan_buffer", _BufferInfo(), plan._use(), side,
                          index, i)
            self.buffers.append(Buffer(buffer.name.decode(), buffer.layer,
                                       buffer.table, buffer.page_bytes))


class Side:
    """One side of a plan: its layout as it was asked for, tokens of a page,
    number of ranks, names of its page tables."""

    def __init__(self, plan, side):
        info = _ask("plan_side", _SideInfo(), plan._use(), side)
        self._plan, self._side = plan, side
        self.spec, self.page_tokens = info.spec.decode(), info.page_tokens
        self.ranks = info.ranks
        self.tables = [
            _ask("plan_table", c_char_p(), plan._use(), side, i).value.decode()
            for i in range(info.tables)]

    def rank(self, index):
        """Rank `index`, from 0."""
        return Rank(self._plan, self._side, index)

    def pages(self, request, rank, table=0):
        """How many pages of a table the rank needs for all of the request."""
        return _ask("plan_pages", c_int64(), self._plan._use(),
                    byref(request), self._side, rank, table).value

    def first_page(self, request, rank, table=0):
        """The first of them that what lies behind the request's prefix needs."""
        return _ask("plan_first_page", c_int64(), self._plan._use(),
                    byref(request), self._side, rank, table).value

    def page_digest(self, rank, index):
        """For keys of a store: SHA-256, in hexadecimal, of all that decides the
        bytes of a page of buffer `index` of the rank. Equal for replicas and
        equal layouts."""
        return _ask("plan_page_digest", _Digest(), self._plan._use(),
                    self._side, rank, index).value.decode()

    def layers_digest(self, rank, buffer):
        """The same of the pages of all layers that the rank has of a buffer, by
        its name: for a store that keeps them as one."""
        return _ask("plan_layers_digest", _Digest(), self._plan._use(),
                    self._side, rank, buffer.encode()).value.decode()


def pages_of_slots(slots, page_tokens):
    """Pages, int32, of token slots (page * page_tokens + slot in the page), an
    int64 array in the order of a request's tokens."""
    _expect(slots, _I64, "slots")
    pages, count = np.empty(slots.size, np.int32), c_int64()
    _call("pages_of_slots", _address(slots), slots.size, page_tokens,
          _address(pages), pages.size, byref(count))
    return pages[:count.value].copy()


def striped_pages(pages, ranks, rank):
    """Of pages, int32, whose numbers are divided among ranks: those of a rank, as
    it numbers them, and their entries in `pages`."""
    _expect(pages, _I32, "pages")
    own, entries = np.empty(pages.size, np.int32), np.empty(pages.size, np.int64)
    count = c_int64()
    _call("striped_pages", _address(pages), pages.size, ranks, rank,
          _address(own), _address(entries), own.size, byref(count))
    return own[:count.value].copy(), entries[:count.value].copy()


class Plan(_Handle):
    """A migration plan. Any number of threads may use it."""

    _kind = "plan"

    @classmethod
    def load(cls, path):
        """Reads and checks kv.json."""
        return cls(_ask("plan_load", c_void_p(),
                        os.fsencode(os.fspath(path))).value)

    @classmethod
    def from_text(cls, text, name="kv.json"):
        """The same from text; `name` stands for it in messages."""
        data = text.encode() if isinstance(text, str) else bytes(text)
        return cls(_ask("plan_load_memory", c_void_p(), data, len(data),
                        name.encode()).value)

    def __init__(self, handle):
        super().__init__(handle)
        info = _ask("plan_get", _PlanInfo(), self._use())
        self.model = info.model.decode()
        self.profile = info.profile.decode()
        self.max_descriptors = info.max_descriptors
        self.slot_bytes = info.slot_bytes
        self.rounds_to_pages = bool(info.rounds_to_pages)
        self.planes = []
        for i in range(info.planes):
            plane = _ask("plan_plane", _PlaneInfo(), self._use(), i)
            self.planes.append(Plane(
                plane.name.decode(), plane.dtype.decode(), plane.heads,
                plane.head_bytes, plane.window, bool(plane.is_state),
                plane.layer_ids[:plane.layers]))
        self.transfers = []
        for i in range(info.transfers):
            entry = _ask("plan_transfer", _TransferInfo(), self._use(), i)
            self.transfers.append(Transfer(
                entry.source, entry.target, PACKING[entry.packing],
                bool(entry.batches_by_layer), bool(entry.with_last_chunk)))

    @property
    def source(self):
        return Side(self, SOURCE)

    @property
    def target(self):
        return Side(self, TARGET)

    def pair(self, source, target):
        """The transfers of a pair of ranks."""
        first, count = c_int64(), c_int64()
        _call("plan_pair", self._use(), source, target, byref(first),
              byref(count))
        return self.transfers[first.value:first.value + count.value]

    def responders(self, target):
        """The source ranks that must have reported before a request is ready at
        a target rank; also those that send nothing."""
        count = _ask("plan_responders", c_int64(), self._use(), target, None,
                     0)
        ranks = np.empty(count.value, np.int64)
        _call("plan_responders", self._use(), target, _address(ranks),
              ranks.size, byref(count))
        return ranks.tolist()

    def readiness(self, target):
        """What each of them reports: a request is ready when every one, by its
        key, has reported `completions` times that all its bytes have arrived.
        One that comes twice counts once; a failure stays."""
        found = []
        for i in range(len(self.responders(target))):
            info = _ask("plan_responder", _ResponderInfo(), self._use(), target,
                        i)
            found.append(Responder(
                info.source, info.key.decode(), info.completions,
                tuple(name for bit, name in enumerate(REPORTS)
                      if info.reports >> bit & 1)))
        return found

    def lifetimes(self):
        """From when until when buffers of each kind are pinned."""
        found = []
        for i in range(_ask("plan_lifetimes", c_int64(), self._use()).value):
            info = _ask("plan_lifetime", _LifetimeInfo(), self._use(), i)
            found.append(Lifetime(*[
                getattr(info, name).decode() for name, _ in info._fields_]))
        return found

    def slots(self):
        """The slots that packed blocks go through."""
        found = []
        for i in range(_ask("plan_slots", c_int64(), self._use()).value):
            info = _ask("plan_slot", _SlotInfo(), self._use(), i)
            found.append(Slot(("source", "target")[info.at], info.source,
                              info.target, info.lane, info.bytes,
                              info.max_descriptors))
        return found

    def bind(self, request, source, target, source_memory, target_memory):
        """What rank `source` sends to rank `target` for a chunk of a
        request."""
        return Binding(_ask(
            "bind", c_void_p(), self._use(), byref(request), source, target,
            byref(source_memory._struct), byref(target_memory._struct)).value)


class Binding(_Handle):
    """A plan with the addresses and page tables of one request. Any number of
    threads may use it; it needs neither its plan nor the arrays any more."""

    _kind = "binding"

    # Asked for by those who want to know.
    @functools.cached_property
    def _counts(self):
        return _ask("binding_counts", _Counts(), self._use())

    @property
    def descriptors(self):
        return self._counts.descriptors

    @property
    def bytes(self):
        """Of all descriptors."""
        return self._counts.bytes

    @property
    def equal_bytes(self):
        """Bytes of every descriptor; 0 if they differ, or there are none."""
        return _ask("binding_equal_bytes", c_int64(), self._use()).value

    def _count(self, first, count):
        return self.descriptors - first if count is None else count

    def fill(self, first=0, count=None, out=None, threads=1):
        """Descriptors first .. first + count - 1 (all) as three uint64 arrays:
        source addresses, target addresses, bytes. `out`: three arrays to be
        written, of which the last may be None where all descriptors have
        `equal_bytes`; `threads`: at most so many, 0: one per processor."""
        count = self._count(first, count)
        if out is None:
            out = tuple(np.empty(max(count, 0), np.uint64) for _ in range(3))
        else:
            for array in out[:2] if out[2] is None else out:
                _expect_out(array, _U64, "out", (count,))
        source, target, length = out
        _call("fill", self._use(), first, count, _address(source),
              _address(target), None if length is None else _address(length),
              threads)
        return source, target, length

    def fill_rows(self, first=0, count=None, source_device=0, target_device=0,
                  out=None, threads=1):
        """The same as two arrays of rows (address, bytes, device), as NIXL
        takes them."""
        count = self._count(first, count)
        if out is None:
            out = tuple(np.empty((max(count, 0), 3), np.uint64)
                        for _ in range(2))
        for array in out:
            _expect_out(array, _U64, "out", (count, 3))
        source, target = out
        _call("fill_rows", self._use(), first, count, source_device,
              target_device, _address(source), _address(target), threads)
        return source, target

    def regions(self):
        """Strided regions, an array of REGION; few, however many tokens."""
        regions = np.empty(self._counts.regions, REGION)
        _call("regions", self._use(), 0, regions.size, _address(regions))
        return regions

    def batches(self):
        """What the engine gets call by call, an array of BATCH."""
        batches = np.empty(self._counts.batches, BATCH)
        _call("binding_batches", self._use(), 0, batches.size,
              _address(batches))
        return batches

    def parts(self):
        """The transfers: which descriptors and batches are of each, and where it
        packs."""
        parts = []
        for i in range(self._counts.parts):
            part = _ask("binding_part", _Part(), self._use(), i)
            parts.append(Part(part.first, part.descriptors, part.first_batch,
                              part.batches, PACKING[part.packing],
                              bool(part.with_last_chunk)))
        return parts

    def for_each_batch(self, visit, most=2048, threads=1):
        """Calls visit(batch, first, source, target, length) for all descriptors,
        at most `most` of a batch at a time: numbers (first, descriptors, bytes)
        of the batch, the number of the first descriptor, and arrays that are
        valid during the call only. What it raises ends the walk.

        A function of another library (of type VISIT, see layline/kv.h) is called
        without Python in between, with a null pointer as its context."""
        if isinstance(visit, VISIT):
            _call("for_each_batch", self._use(), most, threads, visit, None)
            return
        failures = []

        def call(_, batch, first, count, source, target, length):
            try:
                arrays = [np.ctypeslib.as_array(
                    ctypes.cast(address, POINTER(c_uint64)), (count,))
                    for address in (source, target, length)]
                entry = batch.contents
                visit((entry.first, entry.descriptors, entry.bytes), first,
                      *arrays)
                return 0
            except BaseException as error:  # cannot pass through C
                failures.append(error)
                return 1

        try:
            _call("for_each_batch", self._use(), most, threads, VISIT(call),
                  None)
        except Error:
            if failures:
                raise failures[0]
            raise

    def part_slot(self, part):
        """What a round of a part that packs may have, and its lane."""
        slot = _ask("binding_part_slot", _PartSlot(), self._use(), part)
        return PartSlot(slot.bytes, slot.max_descriptors, slot.lane)

    def pack(self, part, slot_bytes=0, max_descriptors=0):
        """The rounds of a part, each of what fits into one slot: into the
        part's own, or into one of `slot_bytes`."""
        return Packing(_ask("packing_create", c_void_p(), self._use(), part,
                            slot_bytes, max_descriptors).value)


class Packing(_Handle):
    """Rounds of blocks that are sent from or to slots of scratch buffers."""

    _kind = "packing"

    def __init__(self, handle):
        super().__init__(handle)
        count = _ask("packing_rounds", c_int64(), self._use()).value
        self.rounds = []
        for i in range(count):
            entry = _ask("packing_round", _Round(), self._use(), i)
            self.rounds.append(Round(entry.first_block, entry.blocks,
                                     entry.bytes, entry.descriptors))

    def pack(self, index, slot, threads=1):
        """Where the source packs, copies the round's blocks into `slot`, a
        contiguous array of uint8."""
        _expect_out(slot, _U8, "slot", slot.shape)
        _call("pack", self._use(), index, _address(slot), slot.size, threads)

    def unpack(self, index, slot, threads=1):
        """Where the target unpacks, copies the round's blocks out of it."""
        _expect(slot, _U8, "slot")
        _call("unpack", self._use(), index, _address(slot), slot.size,
              threads)

    def descriptors(self, index, source_slot=0, target_slot=0):
        """What is sent in a round, as three arrays; addresses of slots that are
        not used are ignored."""
        count = self.rounds[index].descriptors
        out = [np.empty(count, np.uint64) for _ in range(3)]
        _call("packing_descriptors", self._use(), index, source_slot,
              target_slot, *[_address(array) for array in out], count)
        return tuple(out)
