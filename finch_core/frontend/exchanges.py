"""Names of tensors that are exchanged, ``prev, cur = cur, prev``: a swap of what they hold.

In Python the names change places, and the tensors stay what they are. Between two workspaces the
swap of their contents is the same. An argument is its caller's, too: when the kernel ends, it is to
hold what Python left in it, whatever name that has by then. So numbers follow which tensor a name
has, and the end swaps the contents back:

    x_at = 0; w_at = 1
    ...
    swap(x, w); x_at, w_at = w_at, x_at          for     x, w = w, x
    ...
    if w_at == 0:
        swap(x, w)

Exchanges that stand in no loop and under no condition need none of this: which tensor a name has
after them is known, and the names that follow are those of these tensors. Nothing is swapped, and
formats and shapes may differ.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Container, Iterator
from types import FunctionType
from typing import NoReturn

from finch_core.errors import KernelSyntaxError
from finch_core.frontend.early_returns import returns
from finch_core.frontend.functions import swap
from finch_core.frontend.names import found, makes_tensor
from finch_core.frontend.nodes import fresh, walk
from finch_core.records import frozen

Refuse = Callable[[ast.AST, str, str], NoReturn]
Block = list[ast.stmt]


def exchanged_names(node: ast.AST) -> list[tuple[str, str]] | None:
    """The targets of ``a, b, c = b, c, a`` with the name that each takes; None for anything
    else."""
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return None
    targets, values = _names(node.targets[0]), _names(node.value)
    if targets is None or values is None or len(set(targets)) < max(2, len(targets)):
        return None
    if targets == values or sorted(targets) != sorted(values):
        return None
    return list(zip(targets, values, strict=True))


def _names(node: ast.expr) -> list[str] | None:
    """The names in a tuple of names."""
    if not isinstance(node, (ast.Tuple, ast.List)):
        return None
    names = [part.id for part in node.elts if isinstance(part, ast.Name)]
    return names if len(names) == len(node.elts) else None


def parted(node: ast.Assign) -> tuple[ast.Assign, ast.Assign] | None:
    """``a, b = b, a`` and ``t = e`` of ``a, b, t = b, a, e``; None where no names change places
    beside other targets that are names."""
    target, value = node.targets[0], node.value
    if len(node.targets) > 1 or not isinstance(target, (ast.Tuple, ast.List)):
        return None
    if not isinstance(value, (ast.Tuple, ast.List)) or len(target.elts) != len(value.elts):
        return None
    names = [part.id for part in target.elts if isinstance(part, ast.Name)]
    if len(set(names)) < len(target.elts):
        return None
    among = {t: v.id for t, v in zip(names, value.elts, strict=True) if isinstance(v, ast.Name)}
    closed: set[str] = set()
    while closed != among.keys():
        closed = set(among)
        among = {t: v for t, v in among.items() if v in closed and t in among.values()}
    rest = [k for k, name in enumerate(names) if name not in closed]
    if not rest or all(t == v for t, v in among.items()):
        return None
    return _some(node, [k for k in range(len(names)) if k not in rest]), _some(node, rest)


def _some(node: ast.Assign, places: list[int]) -> ast.Assign:
    """The targets of an assignment at ``places``, with their values."""
    parts: list[ast.expr] = []
    for whole, ctx in ((node.targets[0], ast.Store()), (node.value, ast.Load())):
        assert isinstance(whole, (ast.Tuple, ast.List))
        found: list[ast.expr] = [whole.elts[k] for k in places]
        parts.append(ast.copy_location(ast.Tuple(found, ctx), whole))
    return ast.copy_location(ast.Assign([parts[0]], parts[1]), node)


def in_pairs(node: ast.Assign) -> list[ast.stmt]:
    """``a, b, c = b, c, a`` as exchanges of two names each."""
    pairs = exchanged_names(node) or []
    targets, held = [target for target, _ in pairs], [target for target, _ in pairs]
    done: list[ast.stmt] = []
    for k, (target, wanted) in enumerate(pairs):
        at = held.index(wanted)
        if at == k:
            continue
        other = targets[at]
        held[k], held[at] = held[at], held[k]
        done.append(_exchange(target, other, node))
    return done


def _exchange(first: str, second: str, node: ast.stmt) -> ast.stmt:
    def named(names: tuple[str, str], ctx: ast.expr_context) -> ast.expr:
        parts: list[ast.expr] = [ast.copy_location(ast.Name(n, ctx), node) for n in names]
        return ast.copy_location(ast.Tuple(parts, ctx), node)

    targets, values = named((first, second), ast.Store()), named((second, first), ast.Load())
    return ast.copy_location(ast.Assign([targets], values), node)


def tensors_of(function: FunctionType, node: ast.FunctionDef) -> frozenset[str]:
    """The names that are certainly those of tensors: of workspaces, and parameters that are used as
    tensors, and that nothing assigns but exchanges."""
    params = set(_parameters(node))
    made: set[str] = set()
    others: set[str] = set()
    found = [part for part in walk(node) if isinstance(part, ast.Assign)]
    apart = {id(part): both for part in found if (both := parted(part)) is not None}
    exchanges = [exchanged_names(part) for part in found]
    exchanges += [exchanged_names(exchange) for exchange, _rest in apart.values()]
    for part in walk(node):
        if isinstance(part, ast.Assign) and exchanged_names(part) is None:
            _exchange, part = apart.get(id(part), (None, part))
            for target, value in _assignments(part):
                names = {n.id for n in _stored(target)}
                (made if makes_tensor(function, value) else others).update(names)
        elif isinstance(part, (ast.AugAssign, ast.AnnAssign, ast.For)):
            others.update(n.id for n in _stored(part.target))
    known = (made | (params & _used_as_tensors(function, node, frozenset()))) - others
    for pair in (set(dict(names or ())) for names in exchanges):
        if not pair.isdisjoint(known):
            known |= (pair & params) - others
    return frozenset(known | (_unread(node) & params) - others)


def _unread(node: ast.FunctionDef) -> set[str]:
    """The names that are only exchanged, in no loop and under no condition, and returned: they may
    be those of anything."""
    exchanges = [stmt for stmt in node.body if exchanged_names(stmt)]
    results = [part.value for part in walk(node) if isinstance(part, ast.Return)]
    rows = [r.elts if isinstance(r, ast.Tuple) else [r] for r in results if r is not None]
    apart = [part for stmt in exchanges for part in walk(stmt)]
    apart += [value for row in rows for value in row]
    known = set(map(id, apart))
    names = {part.id for part in apart if isinstance(part, ast.Name)}
    return names - {n.id for n in walk(node) if isinstance(n, ast.Name) and id(n) not in known}


def _parameters(node: ast.FunctionDef) -> list[str]:
    return [arg.arg for arg in (*node.args.posonlyargs, *node.args.args)]


def _used_as_tensors(
    function: FunctionType, node: ast.FunctionDef, callers: frozenset[FunctionType]
) -> set[str]:
    """The names that are indexed, have a shape, or are given to a kernel as tensors."""
    used: set[str] = set()
    for part in walk(node):
        if isinstance(part, (ast.Subscript, ast.Attribute)) and isinstance(part.value, ast.Name):
            used.add(part.value.id)
        elif isinstance(part, ast.Call) and any(isinstance(arg, ast.Name) for arg in part.args):
            wanted = _tensors_taken(function, part, callers)
            used.update(arg.id for k, arg in enumerate(part.args) if isinstance(arg, ast.Name)
                        and k in wanted)  # fmt: skip
    return used


def _tensors_taken(
    function: FunctionType, call: ast.Call, callers: frozenset[FunctionType]
) -> Container[int]:
    """The positions at which a call takes tensors."""
    called = found(function, call.func)
    if called is builtins.len or called is swap:
        return range(2)
    inner = getattr(called, "__wrapped__", None)
    if not hasattr(type(called), "__finch_program__") or inner in callers | {function}:
        return ()
    from finch_core.frontend.source import read_source  # which takes assignments apart by this

    try:
        source = read_source(inner, as_written=True)
    except KernelSyntaxError:  # refused where it is called
        return ()
    used = _used_as_tensors(source.function, source.node, callers | {function})
    return {k for k, name in enumerate(_parameters(source.node)) if name in used}


def _assignments(node: ast.Assign) -> list[tuple[ast.expr, ast.expr]]:
    """The targets of an assignment, each with its value."""
    target, value = node.targets[0], node.value
    pair = [part.elts for part in (target, value) if isinstance(part, (ast.Tuple, ast.List))]
    if len(pair) == 2 and len(node.targets) == 1 and len(pair[0]) == len(pair[1]):
        return list(zip(*pair, strict=True))
    return [(target, value) for target in node.targets]


def _stored(target: ast.AST) -> Iterator[ast.Name]:
    for part in walk(target):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part


# -- what callers see ---------------------------------------------------------------------------


def restored(
    function: ast.FunctionDef,
    body: Block,
    results: list[ast.expr],
    numbers: Container[str],
    refuse: Refuse,
) -> Block:
    """``body`` with the contents of arguments that are exchanged where Python leaves them; the body
    has no ``return``, and gives ``results``; ``numbers`` are names that are no tensors'."""
    pairs = [node for stmt in body for node in walk(stmt) if exchanged_names(node)]
    params = _parameters(function)
    if not pairs:
        return body
    once = len(returns(function.body)) < 2
    for group in _groups(pairs):
        is_given = any(isinstance(value, ast.Name) and value.id in group for value in results)
        if (once or not is_given) and not any(name in numbers for name in group):
            body = _renamed(body, results, group, params)
    pairs = [node for stmt in body for node in walk(stmt) if exchanged_names(node)]
    taken = {node.id for node in walk(function) if isinstance(node, ast.Name)} | set(params)
    for group in _groups(pairs):
        if group.isdisjoint(params):
            continue
        names = [name for name in params if name in group]
        names += sorted(group.difference(params))
        own = [node for node in pairs if not group.isdisjoint(dict(exchanged_names(node) or ()))]
        for value in results:
            if isinstance(value, ast.Name) and value.id in group:
                _refuse_result(value, names, refuse)
        made = group.difference(params)
        if all(any(_sets(part, {name}) for part in _statements(body)) for name in made):
            _Restored(names, own, taken).put(_block_of(body, made, own, refuse))
    return body


def _renamed(body: Block, results: list[ast.expr], group: set[str], params: list[str]) -> Block:
    """``body`` without the exchanges of the names ``group``, if all of them stand in ``body``
    itself: the names behind each, and in ``results``, are those of the tensors that they have."""
    bound = {*params, *(name for stmt in body for name in group if _sets(stmt, {name}))}
    if not group <= bound:
        return body
    at = [k for k, stmt in enumerate(body) if _exchanges(stmt, group)]
    inside = (part for stmt in body for part in walk(stmt))
    if len(at) != sum(_exchanges(part, group) for part in inside):
        return body
    held = {name: name for name in group}
    others: dict[int, tuple[ast.Name, str]] = {}
    for stmt in (*body[at[0] :], *results):
        if _exchanges(stmt, group):
            (first, second), _ = exchanged_names(stmt) or (("", ""), None)
            held[first], held[second] = held[second], held[first]
            continue
        for part in walk(stmt):
            if isinstance(part, ast.Name) and part.id in group:
                if isinstance(part.ctx, ast.Store):
                    return body
                others.setdefault(id(part), (part, held[part.id]))
    for part, name in others.values():
        part.id = name
    rest: Block = [stmt for k, stmt in enumerate(body) if k not in at]
    return rest or [ast.copy_location(ast.Pass(), body[0])]


def _exchanges(stmt: ast.AST, group: set[str]) -> bool:
    """Whether a node exchanges names of ``group``."""
    return not group.isdisjoint(dict(exchanged_names(stmt) or ()))


def _groups(pairs: list[ast.AST]) -> list[set[str]]:
    """The names that take part in exchanges with one another."""
    groups: list[set[str]] = []
    for node in pairs:
        group = set(dict(exchanged_names(node) or ()))
        apart = [other for other in groups if other.isdisjoint(group)]
        for other in groups:
            group |= other if not other.isdisjoint(group) else set()
        groups = [*apart, group]
    return groups


def _block_of(body: Block, made: set[str], own: list[ast.AST], refuse: Refuse) -> Block:
    """The block that makes the workspaces ``made`` and has the exchanges ``own``. Nothing follows
    it: the names end with it, and so does what an argument's name may stand for."""
    block = body
    while made and not any(_sets(stmt, made) for stmt in block):
        last = block[-1]
        branches = (last.body, last.orelse) if isinstance(last, ast.If) else ()
        block = next((b for b in branches if any(_sets(s, made) for s in _statements(b))), [])
        if not block:
            break
    missing = [name for name in sorted(made) if not any(_sets(s, {name}) for s in block)]
    inside = {id(part) for part in _statements(block)}
    if missing or not inside.issuperset(map(id, own)):
        name = (missing or sorted(made))[0]
        refuse(
            own[0],
            f"{name!r} is made within a block, and an argument's name would stand for it "
            "when that has ended",
            f"make {name!r} before, among the kernel's first statements; or write 'swap', "
            "which exchanges contents",
        )
    return block


def _sets(stmt: ast.stmt, names: set[str]) -> bool:
    """Whether a statement is an assignment of one of the names, other than an exchange."""
    if not isinstance(stmt, ast.Assign) or exchanged_names(stmt) is not None:
        return False
    return any(part.id in names for target in stmt.targets for part in _stored(target))


def _statements(block: Block) -> Iterator[ast.stmt]:
    for stmt in block:
        yield from (part for part in walk(stmt) if isinstance(part, ast.stmt))


def _refuse_result(value: ast.Name, names: list[str], refuse: Refuse) -> NoReturn:
    other = next(name for name in names if name != value.id)
    refuse(
        value,
        f"'return' gives {value.id!r}, whose name is exchanged with that of another tensor: which "
        "one that is, only the run tells",
        f"write 'swap({value.id}, {other})', which exchanges contents, those of the caller's "
        f"arrays too: then {value.id!r} is one tensor",
    )


@frozen(eq=False)
class _Restored:
    """Follows ``names``, arguments first, through the exchanges ``pairs``."""

    names: list[str]
    pairs: list[ast.AST]
    taken: set[str]

    def put(self, block: Block) -> None:
        """Let ``block`` count places from its beginning on, and swap back at its end."""
        first, last = block[0], block[-1]
        places = {name: fresh(f"{name}_at", self.taken) for name in self.names}
        kept = fresh("at", self.taken)
        known = set(map(id, self.pairs))

        def follow(part: Block) -> None:
            for at in reversed(range(len(part))):
                stmt = part[at]
                if id(stmt) in known:
                    (a, b), _ = exchanged_names(stmt) or (("", ""), None)
                    part[at + 1 : at + 1] = _moved(places[a], places[b], kept, stmt)
                for name in ("body", "orelse"):
                    follow(getattr(stmt, name, []))

        follow(block)
        for k, name in enumerate(self.names[:-1]):
            for other in self.names[k + 1 :]:
                test = ast.Compare(
                    ast.Name(places[other], ast.Load()), [ast.Eq()], [ast.Constant(k)]
                )
                back = [
                    _exchange(name, other, last),
                    *_moved(places[name], places[other], kept, last),
                ]
                block.append(_located(ast.If(test, back, []), last))
        begun = [
            _assigned(places[name], ast.Constant(k), first) for k, name in enumerate(self.names)
        ]
        block[:0] = begun


def _moved(first: str, second: str, kept: str, node: ast.stmt) -> Block:
    """Two numbers exchanged."""
    return [
        _assigned(kept, ast.Name(first, ast.Load()), node),
        _assigned(first, ast.Name(second, ast.Load()), node),
        _assigned(second, ast.Name(kept, ast.Load()), node),
    ]


def _assigned(name: str, value: ast.expr, node: ast.stmt) -> ast.stmt:
    return _located(ast.Assign([ast.Name(name, ast.Store())], value), node)


def _located(made: ast.stmt, node: ast.stmt) -> ast.stmt:
    """``made`` at the place of ``node``."""
    for part in walk(made):
        if isinstance(part, (ast.expr, ast.stmt)) and not hasattr(part, "lineno"):
            ast.copy_location(part, node)
    return made


__all__ = ["exchanged_names", "in_pairs", "parted", "restored", "tensors_of"]
