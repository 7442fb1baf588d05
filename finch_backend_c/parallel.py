"""Parallel loops in C: the part as a function of its own, which the threads of a pool call.

    struct loop_1 { struct parallel_loop loop; ... what a part uses ... };
    static int64_t part_1(int64_t *control, int64_t part, ...)     // one part, then its merge
    static int64_t call_1(struct parallel_loop *, ...)             // passes what is in the struct

A part gets buffers as parameters, since compilers honour ``restrict`` only there. What a thread has
for itself is in a block of words of its own, its *lane*. Merges read and write the kernel's own
variables, by their addresses: one part at a time does, in the order of the parts.

Where one thread runs a loop of any number of parts, there is one part. A part that is the only one
writes what its merge would move to the beginning of the kernel's buffers there at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from finch_backend_c import ctree as c
from finch_backend_c.analysis import Usage
from finch_backend_c.parallel_runtime import LANES
from finch_backend_c.printer import expression
from finch_backend_c.printer import function as print_function
from finch_backend_c.spelling import ctype, memory
from finch_core.interface.abi import words
from finch_core.ir import assembly as asm
from finch_core.ir.assembly_rewrite import changed_names, read_names
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Buffer, Expr, Invoke, Literal, Load, Var

if TYPE_CHECKING:
    from finch_backend_c.emitter import Emitter


_ALONE = c.Name("alone_")


class Part:
    """The translation of one parallel loop."""

    def __init__(self, emitter: Emitter, loop: asm.Parallel, number: int) -> None:
        self.emitter, self.loop, self.number = emitter, loop, number
        self.words = 0

    def statements(self) -> tuple[c.Stmt, ...]:
        """The statements that run the loop; the functions are added to the emitter's."""
        self._analyse()
        body = self._body()
        name = f"part_{self.number}"
        result = "static __attribute__((noinline)) int64_t"
        function = c.Function(result, name, self._parameters(), body)
        texts = [self._struct(), print_function(function), self._call(), self._kept()]
        self.emitter.outlined += texts
        return tuple(self._run())

    # -- what a part uses -----------------------------------------------------------------------

    def _analyse(self) -> None:
        before, merge = self.loop.body.statements, asm.Block()
        if before and isinstance(last := before[-1], asm.Merge):  # empty where nothing is read
            before, merge = before[:-1], last.body
        self.before, self.merge = asm.Block(before), merge
        private = {item.target.name for item in self.loop.private}
        inside = [s.var.name for s in self.loop.body.walk() if isinstance(s, asm.Let | asm.For)]
        own = private.union(inside) | {self.loop.var.name}
        found = {item.name: item for item in mentioned(self.loop.body) if item.name not in own}
        usage, late = Usage(self.loop.body), Usage(merge)
        self.usage = usage
        moved = late.grown | late.assigned
        self.held = [item for item in found.values() if item.name not in moved]
        self.changed = [item for item in found.values() if item.name in moved]
        self.direct = dict(self._direct(private.union(inside) | {self.loop.var.name}))
        self.any_count = self.loop.any_count and isinstance(self.loop.count, Var)
        if merge:
            self.any_count = self.any_count and bool(self.direct)

    def _direct(self, own: set[str]) -> Iterator[tuple[str, asm.Move]]:
        """The private buffers in whose place the only part can use those of the kernel, with the
        statements of the merge that move them; ``own`` are the names of the part."""
        if asm.contains(self.merge, asm.For, asm.While):
            return
        private = {item.target for item in self.loop.private}
        uses = Counter(item.name for item in mentioned(self.merge))
        growing = Counter(s.buffer.name for s in self.merge.walk() if isinstance(s, asm.Grow))
        unknown = set(own)
        for statement in self.merge.statements:
            if isinstance(statement, asm.Move):
                source, target = statement.source, statement.target
                if (
                    source in private
                    and source.name not in self.usage.swapped
                    and uses[source.name] == 1
                    and uses[target.name] == 1 + growing[target.name]
                    and target.name in self.emitter.usage.grown
                    and self._alone(target)
                    and isinstance(statement.begin, Literal)
                    and statement.begin.value == 0
                    and not read_names(statement.to) & unknown
                    and not any(isinstance(e, Load) for e in statement.to.walk())
                ):
                    yield source.name, statement
            unknown |= changed_names(statement)

    def _name(self, item: Var | Buffer) -> str:
        if isinstance(item, Buffer):
            return self.emitter.buffer(item).text
        return self.emitter.scope.variable(item.name)

    def _type(self, item: Var | Buffer) -> str:
        if isinstance(item, Buffer):
            written = self.usage.stored | self.usage.grown
            const = "" if item.name in written or self._kernel_writes(item) else "const "
            return f"{const}{memory(item.dtype)} *"
        return f"{self.emitter.variable_type(item)} "

    def _kernel_writes(self, item: Buffer) -> bool:
        """Whether the address of a buffer is that of a variable of a type without ``const``."""
        usage = self.emitter.usage
        return any(b is item for b in self.changed) and item.name in usage.stored | usage.grown

    def _measured(self, item: Var | Buffer) -> bool:
        return isinstance(item, Buffer) and item.name in self.usage.measured

    def _fields(self) -> Iterator[tuple[str, str, str]]:
        """Type, name and value of what a part gets from the kernel."""
        for item in self.held:
            name = self._name(item)
            yield self._type(item), name, name
            if self._measured(item):
                yield "int64_t ", f"{name}_cap", f"{name}_cap"
        for item in self.changed:
            name = self._name(item)
            type = f"{self._type(item)}*"
            # a buffer's variable may be `restrict`, which is no part of the field's type
            yield type, f"{name}_of", f"({type})&{name}" if isinstance(item, Buffer) else f"&{name}"
            if isinstance(item, Buffer) and item.name in self.emitter.usage.grown:
                yield "int64_t *", f"{name}_cap_of", f"&{name}_cap"
                yield "bool *", f"{name}_own_of", f"&{name}_own"
                yield "uint64_t *", f"{name}_at", f"{name}_at"

    def _lanes(self) -> Iterator[tuple[asm.Private, int]]:
        """What a thread has for itself, and its place in the lane."""
        offset = 0
        for item in self.loop.private:
            yield item, offset
            is_buffer = isinstance(item.target, Buffer)
            offset += 2 if is_buffer else words(concrete(item.target.dtype))
        self.words = offset

    # -- the functions --------------------------------------------------------------------------

    def _struct(self) -> str:
        fields = "".join(f"    {type}{name};\n" for type, name, _ in self._fields())
        head = f"struct loop_{self.number} {{\n    struct parallel_loop loop;\n"
        return f"{head}{fields}}};\n"

    def _parameters(self) -> tuple[str, ...]:
        params = ["int64_t *control", f"int64_t {self._name(self.loop.var)}", "uint64_t *lane_",
                  "struct parallel_loop *loop_"]  # fmt: skip
        for item in self.held:
            alone = "restrict " if isinstance(item, Buffer) and self._alone(item) else ""
            params.append(f"{self._type(item)}{alone}{self._name(item)}")
            if self._measured(item):
                params.append(f"int64_t {self._name(item)}_cap")
        names = {self._name(item) for item in self.held}
        names |= {f"{name}_cap" for name in names}
        params += [f"{type}{name}" for type, name, _ in self._fields() if name not in names]
        for own in self.loop.private:
            if isinstance(own.target, Buffer):
                target = own.target
                params.append(f"{memory(target.dtype)} *restrict {self._name(target)}")
        return tuple(params)

    def _alone(self, item: Buffer) -> bool:
        usage = self.emitter.usage
        shared = item.name in usage.overlapping | usage.swapped
        return not shared and "restrict" not in self.emitter.disabled

    def _call(self) -> str:
        """The function that passes what is in the struct."""
        held = {self._name(item) for item in self.held}
        held |= {f"{name}_cap" for name in held}
        fields = [name for _, name, _ in self._fields()]
        args = [f"s->{name}" for name in fields if name in held]
        args += [f"s->{name}" for name in fields if name not in held]
        for item, offset in self._lanes():
            if isinstance(item.target, Buffer):
                args.append(f"({memory(item.target.dtype)} *)(uintptr_t)lane[{offset}]")
        passed = ", ".join(["control", "part", "lane", "loop", *args])
        number = self.number
        return (
            f"static int64_t call_{number}(struct parallel_loop *loop, int64_t *control,\n"
            f"                      int64_t part, uint64_t *lane)\n{{\n"
            f"    struct loop_{number} *const s = (struct loop_{number} *)loop;\n"
            f"    (void)s;\n"
            f"    return part_{number}({passed});\n}}\n"
        )

    def _kept(self) -> str:
        """The C record of private buffers, which are kept until the library is closed; empty for
        none."""
        if not self.loop.private:
            return ""
        number, private = self.number, list(self._lanes())
        places = [str(offset) for item, offset in private if isinstance(item.target, Buffer)]
        listed = ", ".join(places or ["0"])
        return (
            f"static const int64_t blocks_{number}[] = {{{listed}}};\n"
            f"static struct parallel_kept kept_{number} = {{.words = {self.words}, "
            f".blocks = blocks_{number}, .count = {len(places)}}};\n\n"
            f"__attribute__((destructor)) static void close_{number}(void)\n{{\n"
            f"    parallel_close(&kept_{number});\n}}\n"
        )

    def _body(self) -> c.Block:
        statements: list[c.Stmt] = [c.Declare("int64_t", "status", c.Number("0"))]
        statements += self._prologue()
        with self.emitter.outlining():
            statements += self.emitter.block(self.before).statements
            if self.merge:
                statements += self._merged()
        statements.append(c.Goto("done"))
        if self.usage.allocates:
            statements += [c.Label("out_of_memory"), c.Assign(c.Name("status"), c.Number("2"))]
        statements += [c.Label("done"), *self._epilogue(), c.Return(c.Name("status"))]
        return c.Block(tuple(statements))

    def _prologue(self) -> Iterator[c.Stmt]:
        if self.direct:
            yield c.Declare("const bool", _ALONE.text, c.Name("loop_->alone"))
        for own, offset in self._lanes():
            name, place = self._name(own.target), _lane(offset)
            if isinstance(own.target, Buffer):
                capacity = c.Subscript(c.Name("lane_"), c.Number(str(offset + 1)))
                mine = [c.Cast("int64_t", capacity), c.Name("true"), place]
                if own.target.name in self.direct:
                    of, *theirs = self._whole(self.direct[own.target.name].target)
                    mine = [c.Ternary(_ALONE, a, b) for a, b in zip(theirs, mine, strict=True)]
                    address = c.Ternary(_ALONE, of, c.Name(name))
                    yield c.Assign(c.Name(name), address)
                yield c.Declare("int64_t", f"{name}_cap", mine[0])
                yield c.Declare("bool", f"{name}_own", mine[1])
                yield c.Declare("uint64_t *const", f"{name}_at", mine[2])
            else:
                yield c.Declare(self.emitter.variable_type(own.target), name)
                yield _copy(c.Unary("&", c.Name(name)), place, name)
        if not self.merge:
            return
        yield c.Declare("bool", "merging_", c.Name("false"))
        for item in self.changed:
            name = self._name(item)
            yield c.Declare(self._type(item).rstrip(), name)
            if isinstance(item, Buffer) and item.name in self.emitter.usage.grown:
                yield c.Declare("int64_t", f"{name}_cap")
                yield c.Declare("bool", f"{name}_own")

    def _whole(self, buffer: Buffer) -> Iterator[c.Expr]:
        """The address, the capacity, the ownership and the place of a buffer of the kernel."""
        name = self._name(buffer)
        yield from (c.Unary("*", c.Name(f"{name}{part}_of")) for part in ("", "_cap", "_own"))
        yield c.Name(f"{name}_at")

    def _used_by_one(self) -> c.Block:
        """What tells the kernel where its buffers are that the only part has used."""
        back: list[c.Stmt] = []
        for source, move in self.direct.items():
            name = self.emitter.scope.buffer(source)
            wholes = list(self._whole(move.target))[:3]
            back += [
                c.Assign(whole, c.Name(f"{name}{part}"))
                for whole, part in zip(wholes, ("", "_cap", "_own"), strict=True)
            ]
        return c.Block(tuple(back))

    def _merged(self) -> Iterator[c.Stmt]:
        """The merge, between what is read of the kernel's variables and the next part's turn."""
        part = c.Name(self._name(self.loop.var))
        awaits = c.Call("parallel_awaits", (c.Name("loop_"), part))
        yield c.If(c.Unary("!", awaits), c.Block((c.Goto("done"),)))
        if self.direct:
            yield c.If(_ALONE, self._used_by_one())
        yield from (c.Assign(c.Name(own), c.Unary("*", c.Name(of))) for own, of in self._pairs())
        yield c.Assign(c.Name("merging_"), c.Name("true"))
        for statement in self.merge.statements:
            emitted = self.emitter.emit(statement)
            if any(statement is move for move in self.direct.values()):
                yield c.If(c.Unary("!", _ALONE), c.Block(emitted))
            else:
                yield from emitted

    def _pairs(self) -> Iterator[tuple[str, str]]:
        """The variables of a merge, and the addresses of the kernel's."""
        for item in self.changed:
            name = self._name(item)
            yield name, f"{name}_of"
            if isinstance(item, Buffer) and item.name in self.emitter.usage.grown:
                yield f"{name}_cap", f"{name}_cap_of"
                yield f"{name}_own", f"{name}_own_of"

    def _epilogue(self) -> Iterator[c.Stmt]:
        for item, offset in self._lanes():
            if not isinstance(item.target, Buffer):
                name = self._name(item.target)
                yield _copy(_lane(offset), c.Unary("&", c.Name(name)), name)
        if self.merge:
            back: list[c.Stmt] = [
                c.Assign(c.Unary("*", c.Name(of)), c.Name(own)) for own, of in self._pairs()
            ]
            passes = c.Call("parallel_passes", (c.Name("loop_"), c.Name(self._name(self.loop.var))))
            ended = c.Unary("!", c.Name("status"))
            back.append(c.If(ended, c.Block((c.Evaluate(passes),))))
            failed = self._used_by_one() if self.direct else c.Block()
            other = c.Block((c.If(_ALONE, failed),)) if failed.statements else c.Block()
            yield c.If(c.Name("merging_"), c.Block(tuple(back)), other)

    # -- the kernel -----------------------------------------------------------------------------

    def _run(self) -> Iterator[c.Stmt]:
        """The statements of the kernel: a block, so that its names are its own."""
        number, emitter = self.number, self.emitter
        shared, lanes, ended = (emitter.scope.fresh(n) for n in ("shared", "lanes", "ended"))
        count = given = _text(emitter.node(self.loop.count))
        head = [f".loop.call = call_{number}"]
        if self.any_count or self.direct:
            alone, parts = emitter.scope.fresh("alone"), emitter.scope.fresh("parts")
            yield c.Declare("const bool", alone, self._is_alone())
            if self.any_count:
                one = c.Ternary(c.Name(alone), c.Number("1"), emitter.node(self.loop.count))
                yield c.Declare("const int64_t", parts, one)
                count = parts
            head += [f".loop.alone = {alone}"] * bool(self.direct)
        head.append(f".loop.count = {count}")
        private = list(self._lanes())
        for _, name, value in self._fields():
            head.append(f".{name} = {count if value == given else value}")
        yield c.Declare(f"struct loop_{number}", shared, c.Initializer(tuple(map(c.Name, head))))
        loop = c.Member(c.Name(shared), "loop")
        run = c.Call("parallel_run", (c.Name("control"), c.Unary("&", loop)))
        if not private:
            yield c.Declare("const int64_t", ended, run)
        else:
            yield from self._taken(c.Name(lanes), private)
            yield c.Assign(c.Member(loop, "lanes"), c.Name(lanes))
            yield c.Assign(c.Member(loop, "words"), c.Number(str(self.words)))
            memory = c.Ternary(c.Name(lanes), run, c.Number("2"))
            yield c.Declare("const int64_t", ended, memory)
            args = (self._of_kept, c.Name("control"), c.Name(lanes), c.Name(ended))
            yield c.Evaluate(c.Call("parallel_give", args))
        yield c.If(c.Name(ended), c.Block(tuple(self._leaving(ended))))

    def _is_alone(self) -> c.Expr:
        """Whether there is one part, which uses what it can of the kernel in place of its own."""
        alone: c.Expr = c.Binary("==", self.emitter.node(self.loop.count), c.Number("1"))
        if self.any_count:
            alone = c.Call("parallel_alone", (c.Name("control"),))
        for start in dict.fromkeys(move.to for move in self.direct.values()):
            at_first = c.Binary("==", self.emitter.node(start), c.Number("0"))
            alone = c.Binary("&&", alone, at_first)
        return alone

    @property
    def _of_kept(self) -> c.Expr:
        return c.Unary("&", c.Name(f"kept_{self.number}"))

    def _taken(self, lanes: c.Name, private: list[tuple[asm.Private, int]]) -> Iterator[c.Stmt]:
        """The lanes; in new ones, the first values of variables that are not all zeros."""
        begun = self.emitter.scope.fresh("begun")
        yield c.Declare("bool", begun)
        args = (self._of_kept, c.Name("control"), c.Unary("&", c.Name(begun)))
        take = c.Call("parallel_take", args)
        yield c.Declare("uint64_t *const", lanes.text, take)
        first = tuple(self._begun(lanes.text, private))
        if first:
            new = c.Binary("&&", lanes, c.Unary("!", c.Name(begun)))
            yield c.If(new, c.Block(first))

    def _begun(self, lanes: str, private: list[tuple[asm.Private, int]]) -> Iterator[c.Stmt]:
        for item, offset in private:
            if item.init is None or not _is_not_zero(item.init.value):
                continue
            emitter = self.emitter
            held = emitter.scope.fresh("first")
            dtype = concrete(item.target.dtype)
            yield c.Declare(f"const {ctype(dtype)}", held, emitter.node(item.init))
            place = c.Binary("+", c.Name(lanes), c.Binary("+", c.Binary(
                "*", c.Name("k"), c.Number(str(self.words))), c.Number(str(offset))))  # fmt: skip
            copied = _copy(place, c.Unary("&", c.Name(held)), held)
            yield c.For("int64_t", "k", c.Number("0"), c.Number(str(LANES)), c.Block((copied,)))

    def _leaving(self, ended: str) -> Iterator[c.Stmt]:
        if self.emitter.cleanup:
            yield from (c.Assign(c.Name("status"), c.Name(ended)), c.Goto("done"))
            return
        yield c.Assign(c.Subscript(c.Name("control"), c.Number("3")), c.Number("0"))
        yield c.Return(c.Name(ended))


def mentioned(block: asm.Block) -> Iterator[Var | Buffer]:
    """The variables and buffers in a block."""
    for statement in block.walk():
        for name in ("var", "buffer", "target", "source", "first", "second"):
            item: Any = getattr(statement, name, None)
            if isinstance(item, Var | Buffer):
                yield item
        for expr in statement.expressions:
            yield from _in(expr)


def _in(expr: Expr) -> Iterator[Var | Buffer]:
    for node in expr.walk():
        if isinstance(node, Var):
            yield node
        for name in ("buffer", "first", "second"):
            item = getattr(node, name, None)
            if isinstance(item, Buffer):
                yield item
        if isinstance(node, Invoke):
            yield from (arg for arg in node.args if isinstance(arg, Buffer))


def _lane(offset: int) -> c.Expr:
    return c.Binary("+", c.Name("lane_"), c.Number(str(offset)))


def _copy(to: c.Expr, source: c.Expr, sized: str) -> c.Stmt:
    """Copy the bytes of a variable between it and a lane."""
    return c.Evaluate(c.Call("__builtin_memcpy", (to, source, c.Call("sizeof", (c.Name(sized),)))))


def _is_not_zero(value: Any) -> bool:
    return bool(value != 0) or str(value).startswith("-")


def _text(node: c.Expr) -> str:
    return expression(node)
