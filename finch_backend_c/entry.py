"""A translation unit: preamble, structs, helpers, functions, and the kernel itself.

The kernel's prologue loads the slots that it uses into local variables; its epilogue, on every
exit, stores back those that may have changed (see ``interface.abi``). The exported function passes
the addresses of buffers to an inner function, since compilers honour ``restrict`` only on
parameters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import reduce
from typing import Any

import numpy as np

from finch_backend_c import ctree as c
from finch_backend_c import helpers
from finch_backend_c.analysis import Usage
from finch_backend_c.c_names import CNames
from finch_backend_c.emitter import Emitter
from finch_backend_c.equal_names import unify_equal_names
from finch_backend_c.guards import GUARD, SETTLE, SIGNALS, UNSETTLE
from finch_backend_c.inlining import NOINLINE, kept_apart
from finch_backend_c.loader import SYMBOL
from finch_backend_c.operators import Value, cast, in_memory
from finch_backend_c.parallel_runtime import LIVING, RUNTIME
from finch_backend_c.printer import function as print_function
from finch_backend_c.spelling import ctype, is_math, memory, prototype, struct, structs, vectors
from finch_core.ir import assembly as asm
from finch_core.ir.common_subexpressions import bind_common_subexpressions
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Buffer, Var
from finch_core.records import field, frozen

_WORD = {"i": "int64_t", "b": "int64_t", "u": "uint64_t", "f": "double"}
WORK = "static __attribute__((noinline)) int64_t"
"""The attributes and result of the inner function, which must not be inlined: its parameters would
become variables, and ``restrict`` would be lost."""
_UINT64, _INT64 = np.dtype(np.uint64), np.dtype(np.int64)


def signature(kernel: asm.Kernel) -> str:
    """A letter for each parameter: ``r`` a record, ``f c i u`` a real, complex, integer number."""
    return "".join(_letter(param) for param in kernel.params)


def _letter(param: asm.Record | asm.Argument) -> str:
    if isinstance(param, asm.Record):
        return "r"
    kind = concrete(param.var.type).kind
    return "i" if kind == "b" else kind


# -- the kernel -------------------------------------------------------------------------------


@frozen(eq=False)
class KernelWriter:
    """Writes the C functions of one kernel."""

    kernel: asm.Kernel
    emitter: Emitter
    usage: Usage
    buffers: dict[str, c.Expr] = field(factory=dict)
    """The parameters for addresses of buffers, and the expressions passed for them."""

    @property
    def scope(self) -> CNames:
        return self.emitter.scope

    def slots(self) -> Iterator[tuple[str, asm.Slot]]:
        """The slots of all records, with the record's C name."""
        for param in self.kernel.params:
            if isinstance(param, asm.Record):
                for slot in param.slots:
                    yield self.scope.variable(param.name), slot

    def grown(self) -> list[str]:
        """The C names of the buffers that may move."""
        return [
            self.scope.buffer(slot.target.name)
            for _, slot in self.slots()
            if isinstance(slot.target, Buffer) and slot.target.name in self.usage.grown
        ]

    # -- prologue -----------------------------------------------------------------------------

    def parameters(self) -> tuple[str, ...]:
        params = ["int64_t *control"]
        for param in self.kernel.params:
            if isinstance(param, asm.Record):
                params.append(f"uint64_t *{self.scope.variable(param.name)}")
            else:
                params += self._scalar_parameter(param.var)
        return tuple(params)

    def _passed(self, var: Var) -> bool:
        """Whether a scalar is passed in its own type."""
        return ctype(concrete(var.type)) in _WORD.values()

    def _scalar_parameter(self, var: Var) -> list[str]:
        name, kind = self.scope.variable(var.name), concrete(var.type).kind
        if kind == "c":
            return [f"double {name}_re", f"double {name}_im"]
        return [f"{_WORD[kind]} {name}" + ("" if self._passed(var) else "_arg")]

    def prologue(self) -> Iterator[c.Stmt]:
        for param in self.kernel.params:
            if isinstance(param, asm.Argument) and not self._passed(param.var):
                yield self._narrowed(param.var)
        for record, slot in self.slots():
            if isinstance(slot.target, Buffer):
                yield from self._load_buffer(record, slot, slot.target)
            elif slot.written or slot.target.name in self.usage.used:
                yield from self._load_scalar(record, slot, slot.target)

    def _narrowed(self, var: Var) -> c.Stmt:
        dtype, name = concrete(var.type), self.scope.variable(var.name)
        if dtype.kind == "c":
            pair = c.Name(f"{name}_re"), c.Name(f"{name}_im")
            value = Value(c.Call("__builtin_complex", pair), np.dtype(np.complex128))
        else:
            wide = np.dtype(np.float64) if dtype.kind == "f" else _INT64
            value = Value(c.Name(f"{name}_arg"), _UINT64 if dtype.kind == "u" else wide)
        node = cast(value, dtype).node
        return c.Declare(f"const {ctype(dtype)}", name, node)

    def _pointer(self, buffer: Buffer) -> str:
        """The C type of a buffer's address."""
        const = "" if buffer.name in self.usage.stored | self.usage.grown else "const "
        return f"{const}{memory(buffer.dtype)} *"

    def _load_buffer(self, record: str, slot: asm.Slot, buffer: Buffer) -> Iterator[c.Stmt]:
        name = self.emitter.buffer(buffer).text
        grown = buffer.name in self.usage.grown
        if buffer.name in self.usage.used:
            type = self._pointer(buffer)
            shared = buffer.name in self.usage.overlapping | self.usage.swapped
            alone = "" if shared or "restrict" in self.emitter.disabled else "restrict "
            self.buffers[f"{type}{alone}{name}"] = c.Cast(type, _word(record, slot.offset))
        if buffer.name in self.usage.measured:
            capacity = c.Cast("int64_t", _word(record, slot.offset + 1))
            yield c.Declare("int64_t" if grown else "const int64_t", f"{name}_cap", capacity)
        if grown:
            yield c.Declare("bool", f"{name}_own", c.Name("false"))
            yield c.Declare("uint64_t *const", f"{name}_at", _address(record, slot.offset))

    def _load_scalar(self, record: str, slot: asm.Slot, var: Var) -> Iterator[c.Stmt]:
        dtype, name = concrete(var.type), self.scope.variable(var.name)
        const = "const " if var.name not in self.usage.assigned else ""
        if var.name in self.usage.set_first:
            yield c.Declare(self.emitter.variable_type(var), name)
            return
        if dtype in (_INT64, _UINT64):
            word = Value(_word(record, slot.offset), _UINT64)
            yield c.Declare(const + ctype(dtype), name, cast(word, dtype).node)
            return
        if dtype.kind == "b":
            byte = c.Unary("*", c.Cast("const uint8_t *", _address(record, slot.offset)))
            yield c.Declare(const + self.emitter.variable_type(var), name, byte)
            return
        yield c.Declare(ctype(dtype), name)
        yield _copy(c.Unary("&", c.Name(name)), _address(record, slot.offset), name)

    # -- epilogue -----------------------------------------------------------------------------

    def stores(self) -> Iterator[c.Stmt]:
        """Store changed slots back into the records."""
        for record, slot in self.slots():
            if isinstance(slot.target, Buffer):
                continue  # GROW stores the new address at once
            if slot.written and slot.target.name in self.usage.assigned:
                yield self._store_scalar(record, slot, slot.target)

    def _store_scalar(self, record: str, slot: asm.Slot, var: Var) -> c.Stmt:
        dtype, name = concrete(var.type), c.Name(self.scope.variable(var.name))
        if dtype in (_INT64, _UINT64):
            return c.Assign(_word(record, slot.offset), cast(Value(name, dtype), _UINT64).node)
        if dtype.kind == "b":
            byte = c.Unary("*", c.Cast("uint8_t *", _address(record, slot.offset)))
            return c.Assign(byte, in_memory(name, dtype).exact().node)
        return _copy(_address(record, slot.offset), c.Unary("&", name), name.text)

    def functions(self, name: str) -> tuple[c.Function, ...]:
        """The inner function, called ``name``, and the exported kernel."""
        params, body = self.parameters(), self.body()
        work = c.Function(WORK, name, (*params, *self.buffers), body)
        given = tuple(c.Name(param.split()[-1].lstrip("*")) for param in params)
        call = c.Call(name, (*given, *self.buffers.values()))
        status = c.Declare("const int64_t", "status", call)
        ends = c.Return(c.Call("END", (c.Name("status"),)))
        return work, c.Function(
            "int64_t", SYMBOL, params, c.Block((c.Evaluate(c.Name("BEGIN")), status, ends))
        )

    def body(self) -> c.Block:
        """Prologue, body and epilogue."""
        stores, grown = tuple(self.stores()), self.grown()
        leaving = (asm.Fail, asm.Parallel)
        leaves = bool(grown) or any(isinstance(s, leaving) for s in self.usage.statements)
        self.emitter.cleanup = leaves and bool(stores or grown)
        stores = (_settling(), *stores) if stores else ()
        prologue = tuple(self.prologue())
        body = self.emitter.block(self.kernel.body).statements
        if self.emitter.cleanup:
            status = c.Declare("int64_t", "status", c.Number("0"))
            parts = (*prologue, status, *body, *_ending(stores, grown, self.usage))
        else:
            parts = (*prologue, *body, *stores, c.Return(c.Number("0")))
        return c.Block(parts)


def _ending(stores: tuple[c.Stmt, ...], grown: list[str], usage: Usage) -> Iterator[c.Stmt]:
    """The exits of the kernel: each updates the records and returns a status."""
    status, moved = c.Name("status"), c.Name("moved")
    told = c.Subscript(c.Name("control"), c.Number("3"))
    if usage.allocates:
        yield from (c.Goto("done"), c.Label("out_of_memory"), c.Assign(status, c.Number("2")))
    yield c.Label("done")
    yield from stores
    if not grown:
        yield from (c.Assign(told, c.Number("0")), c.Return(status))
        return
    own: list[c.Expr] = [c.Name(f"{name}_own") for name in grown]
    if usage.swapped:
        own = [c.Name("true")]
    flag = reduce(lambda a, b: c.Binary("||", a, b), own)
    yield c.Declare("const bool", "moved", flag)
    yield from (c.Assign(told, moved), c.Return(c.Ternary(status, status, moved)))


def _settling() -> c.Stmt:
    """Disable interrupts from here on."""
    return c.Evaluate(c.Call("settle", (c.Name("control"),)))


def _word(record: str, offset: int) -> c.Expr:
    return c.Subscript(c.Name(record), c.Number(str(offset)))


def _address(record: str, offset: int) -> c.Expr:
    return c.Binary("+", c.Name(record), c.Number(str(offset)))


def _copy(to: c.Expr, source: c.Expr, sized: str) -> c.Stmt:
    """Copy the bytes of a scalar between a record and a variable."""
    return c.Evaluate(c.Call("__builtin_memcpy", (to, source, c.Call("sizeof", (c.Name(sized),)))))


# -- functions --------------------------------------------------------------------------------


def _function(
    function: asm.Function, functions: dict[str, str], scope: CNames, disabled: frozenset[str]
) -> tuple[c.Function, Emitter]:
    usage = Usage(function.body)
    emitter = Emitter(CNames(scope), functions, usage, disabled)
    params: list[str] = []
    for param in function.params:
        if isinstance(param, Buffer):
            const = "" if param.name in usage.stored else "const "
            name = emitter.buffer(param).text
            params.append(f"{const}{memory(param.dtype)} *{name}")
            params += [f"int64_t {name}_cap"] if param.name in usage.measured else []
        else:
            name = emitter.scope.variable(param.name)
            params.append(f"{ctype(concrete(param.type))} {name}")
    body = emitter.block(function.body)
    result = "static " + ctype(function.dtype)
    return c.Function(result, functions[function.name], tuple(params), body), emitter


# -- the unit ---------------------------------------------------------------------------------

_GROW = """\
// Blocks of this size are asked for in large pages: most of what it costs to fill new memory is
// that the system provides it page by page. `realloc` would take large pages apart.
#define LARGE ((int64_t)1 << 21)
#ifdef __linux__
int madvise(void *, size_t, int);
static void *large(int64_t bytes)
{
    const size_t size = ((size_t)bytes + LARGE - 1) & ~(size_t)(LARGE - 1);
    void *const block = aligned_alloc(LARGE, size);
    if (block)
        madvise(block, size, 14);  // MADV_HUGEPAGE
    return block;
}

// From a page on, a block begins with a line of the cache: vectors of aligned rows lie in one.
static void *fresh(int64_t bytes)
{
    if (bytes >= LARGE)
        return large(bytes);
    return bytes < 4096 ? malloc((size_t)bytes)
                        : aligned_alloc(64, ((size_t)bytes + 63) & ~(size_t)63);
}
#else
#define fresh malloc
#endif

// Room for twice as much, or for `count` if that is more; memory of the caller's is left to it.
__attribute__((noinline, cold)) static void *grow(int64_t *control, uint64_t *place,
                                                  void *old, bool own, int64_t *capacity,
                                                  int64_t count, int64_t size)
{
    int64_t wanted, bytes;
    if (__builtin_mul_overflow(*capacity, 2, &wanted) || wanted < count)
        wanted = count;
    if (__builtin_mul_overflow(wanted, size, &bytes)$fail)
        return 0;
    const bool moves = !own || bytes >= LARGE;
    const int64_t before = settle(control);
    void *const block = moves ? fresh(bytes) : realloc(old, (size_t)bytes);
    if (block) {
        if (moves && *capacity > 0)
            __builtin_memcpy(block, old, (size_t)(*capacity * size));
        if (moves && own)
            free(old);
        *capacity = wanted;
        place[0] = (uintptr_t)block, place[1] = (uint64_t)wanted;
    }
    unsettle(control, before);
    return block;
}

#define GROW(buffer, count)                                                                 \\
    do {                                                                                    \\
        const int64_t count_ = count;                                                       \\
        if (count_ > buffer##_cap) {                                                        \\
            int64_t cap_ = buffer##_cap;                                                    \\
            void *const block_ = grow(control, buffer##_at, buffer, buffer##_own, &cap_,    \\
                                      count_, sizeof *buffer);                              \\
            if (!block_)                                                                    \\
                goto out_of_memory;                                                         \\
            buffer = block_, buffer##_cap = cap_, buffer##_own = true;                      \\
        }                                                                                   \\
    } while (0)
"""
_SWAP = """\
#define SWAP(one, other)                                                                    \\
    do {                                                                                    \\
        const int64_t before_ = settle(control), cap_ = one##_cap;                          \\
        void *const block_ = one;                                                           \\
        const bool own_ = one##_own;                                                        \\
        one = other, one##_cap = other##_cap, one##_own = other##_own;                      \\
        other = block_, other##_cap = cap_, other##_own = own_;                             \\
        one##_at[0] = (uintptr_t)one, one##_at[1] = (uint64_t)one##_cap;                    \\
        other##_at[0] = (uintptr_t)other, other##_at[1] = (uint64_t)other##_cap;            \\
        unsettle(control, before_);                                                         \\
    } while (0)
"""
_ALLOCATORS = """\
void *malloc(size_t);
void *realloc(void *, size_t);
void *aligned_alloc(size_t, size_t);
void free(void *);
"""


def _preamble(text: str, dtypes: set[np.dtype[Any]], fail_alloc: int) -> str:
    """The headers, prototypes, structs and helpers that the text needs."""
    definitions = helpers.needed(text)
    whole = "\n".join([*definitions, text])
    grows = re.search(r"\bGROW\(", text) is not None
    swaps = re.search(r"\bSWAP\(", text) is not None
    shares = "parallel_run(" in text
    called = helpers.called(whole)
    sized = grows or "memmove" in called
    parts = ["#include <stdbool.h>\n#include <stdint.h>\n" + "#include <stddef.h>\n" * sized]
    prototypes = [prototype(name) for name in sorted(called) if is_math(name)]
    prototypes += ["void *memmove(void *, const void *, size_t);\n"] * ("memmove" in called)
    parts += ["".join(prototypes) + (_ALLOCATORS if grows else "")]
    nested = {ctype(s): s for dtype in sorted(dtypes, key=ctype) for s in structs(dtype)}
    parts += [struct(dtype) for dtype in nested.values()]
    parts.append(vectors(text))
    settles = grows or swaps or shares or "settle(" in text
    parts += [GUARD + SIGNALS, *[SETTLE] * settles, *[UNSETTLE] * (grows or swaps or shares)]
    parts += [_SWAP] * swaps + [RUNTIME] * shares
    parts += [LIVING] * ("parallel_take(" in text)
    if grows:
        failing = f"static int64_t allocations = {fail_alloc};\n\n" if fail_alloc else ""
        parts.append(failing + _GROW.replace("$fail", " || --allocations == 0" if failing else ""))
    return "\n".join(part for part in (*parts, *definitions) if part)


def translate(
    kernel: asm.Kernel, *, fail_alloc: int = 0, disabled: frozenset[str] = frozenset()
) -> str:
    """The C text of a kernel, without the optimisations ``disabled``.

    ``fail_alloc`` (for tests of the out-of-memory exit) makes the allocation of that number fail,
    counted from 1 when the kernel is loaded.
    """
    kernel = kernel if "equal_names" in disabled else unify_equal_names(kernel)
    kernel = bind_common_subexpressions(kernel)
    scope = CNames()
    functions = {f.name: scope.fresh(f.name) for f in kernel.functions}
    emitted = [_function(f, functions, scope, disabled) for f in kernel.functions]
    work, usage = scope.fresh("work"), Usage(kernel.body)
    emitter = Emitter(CNames(scope), functions, usage, disabled)
    entry = KernelWriter(kernel, emitter, usage).functions(work)
    apart = {functions[name] for name in kept_apart(kernel)}
    functions_ = (NOINLINE * (f.name in apart) + print_function(f) for f, _ in emitted)
    texts = [*functions_, *emitter.outlined, *map(print_function, entry)]
    dtypes = emitter.dtypes.union(*(e.dtypes for _, e in emitted))
    text = "\n".join(texts)
    return _preamble(text, dtypes, fail_alloc) + "\n" + text
