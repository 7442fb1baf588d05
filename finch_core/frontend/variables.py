"""Variables: which assignments of a plain name belong together, and where a variable is declared.

Two assignments belong to one variable if one read may see the value of either:

    t = 0.0                           t = A[i]
    for j in _:                       t = 2 * t         # another variable: no read sees both
        t += A[i, j]                  y[i] = t
    y[i] = t                          # sees both

A name that is assigned once in this sense, before all its reads in its own block, is a ``let``;
any other is a variable of the innermost block that has all its assignments and reads. Values are
followed along branches and loops, ``break`` and ``continue`` once, from the innermost block out.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Iterable, Iterator

from finch_core.frontend.nodes import walk
from finch_core.records import define, field, frozen

BEFORE, INDEX = -1, -2
"""In place of an assignment: the value that a name has before the block; a loop's index."""

_Values = dict[str, frozenset[int]]
"""For each name that a block sets, the assignments whose value it may have. Assignments and reads
are numbered by the identity of their nodes."""

_SAME = frozenset({BEFORE})


@frozen(eq=False)
class Variable:
    """Assignments of a name that belong together: a ``let`` or a variable.

    ``name`` is what the program calls it: different for variables, and from parameters.
    """

    name: str
    is_let: bool


@define
class Variables:
    """The variables of a function.

    ``by_node`` are those of plain names, by the identity of the name's node; ``unset`` the reads
    that may come before any assignment, with the first assignment of the name; ``declared`` the
    variables that begin before a statement, by its identity; ``parameters`` those that begin with
    the value of a parameter.
    """

    names: frozenset[str] = frozenset()
    by_node: dict[int, Variable] = field(factory=dict)
    unset: dict[int, ast.Name] = field(factory=dict)
    declared: dict[int, list[Variable]] = field(factory=dict)
    parameters: dict[str, Variable] = field(factory=dict)


def find_variables(
    function: ast.FunctionDef,
    body: list[ast.stmt],
    is_tensor: Callable[[ast.expr], bool],
    results: Container[str] = (),
) -> Variables:
    """The variables among the names that ``body`` assigns; those in ``results`` are no ``let``.

    ``is_tensor`` tells whether a value that is assigned makes a tensor; names of tensors are left
    out. So are parameters that are subscripted.
    """
    assigned, tensors = _assigned(body, is_tensor)
    params = {arg.arg: arg for arg in (*function.args.posonlyargs, *function.args.args)}
    names = assigned - tensors - (_subscripted(body) & params.keys())
    if not names:
        return Variables()
    flow = _Flow(names)
    part = flow.block(body, ())
    return _Grouping(flow, part, params, _all_names(function), results).found()


def _assigned(
    body: list[ast.stmt], is_tensor: Callable[[ast.expr], bool]
) -> tuple[frozenset[str], set[str]]:
    """The plain names that are assigned, and those of them that are tensors somewhere."""
    names, tensors = set(), set()
    for part in (node for stmt in body for node in walk(stmt)):
        if isinstance(part, ast.Assign):
            first = part.targets[0]  # others are refused
            plain = {first.id} if isinstance(first, ast.Name) else set()
            names |= plain
            if is_tensor(part.value):
                tensors |= plain
        elif isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name):
            names.add(part.target.id)
    return frozenset(names), tensors


def _subscripted(body: list[ast.stmt]) -> set[str]:
    nodes = (node for stmt in body for node in walk(stmt) if isinstance(node, ast.Subscript))
    return {node.value.id for node in nodes if isinstance(node.value, ast.Name)}


def _all_names(function: ast.FunctionDef) -> set[str]:
    found = {node.id for node in walk(function) if isinstance(node, ast.Name)}
    return found | {node.arg for node in walk(function) if isinstance(node, ast.arg)}


# -- values along the statements ----------------------------------------------------------------


@define
class _Part:
    """What a block does: the values at its end (``reached``: if it comes there) and where loops
    around it are left or continued, and the reads of values from before it."""

    values: _Values = field(factory=dict)
    reached: bool = True
    breaks: list[_Values] = field(factory=list)
    continues: list[_Values] = field(factory=list)
    exposed: dict[str, list[int]] = field(factory=dict)


def _after(values: _Values, later: _Values) -> _Values:
    """The values once ``later``, which is relative to ``values``, has happened as well."""
    if not values:
        return later
    found = dict(values)
    for name, origins in later.items():
        if BEFORE in origins:
            origins = (origins - _SAME) | values.get(name, _SAME)
        found[name] = origins
    return found


def _join(ways: Iterable[_Values]) -> _Values:
    """The values where several ways meet."""
    first, *rest = ways
    found = first
    for way in rest:
        names = found.keys() | way.keys()
        found = {name: found.get(name, _SAME) | way.get(name, _SAME) for name in names}
    return found


@define
class _Site:
    """Where a name is assigned or read: the positions of the statements around it, outermost
    first, with the number of the branch after each; and these statements."""

    node: ast.Name
    path: tuple[int, ...]
    statements: tuple[ast.stmt, ...]
    sets: bool = False
    replaces: bool = False
    """Whether it is an assignment ``x = e``, and not an update."""


class _Flow:
    """Follows the values of ``names``; ``sites`` are their assignments and reads, ``origin``
    joins those that belong together."""

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names
        self.sites: dict[int, _Site] = {}
        self.statements: list[ast.stmt] = []
        self.unset: set[int] = set()
        """Reads that may see the index of a loop that has ended."""
        self._parents: dict[int, int] = {}

    # -- groups -----------------------------------------------------------------------------

    def origin(self, key: int) -> int:
        """The representative of the group of a site."""
        while (parent := self._parents.get(key, key)) != key:
            self._parents[key] = self._parents.get(parent, parent)
            key = parent
        return key

    def unite(self, first: int, second: int) -> None:
        self._parents[self.origin(first)] = self.origin(second)

    # -- statements -------------------------------------------------------------------------

    def block(self, body: list[ast.stmt], path: tuple[int, ...]) -> _Part:
        part = _Part()
        for position, node in enumerate(body):
            self.statements.append(node)
            self.statement(node, part, (*path, position))
            self.statements.pop()
        return part

    def statement(self, node: ast.stmt, part: _Part, path: tuple[int, ...]) -> None:
        if isinstance(node, (ast.For, ast.While)):
            self.loop(node, part, path)
        elif isinstance(node, ast.If):
            self.branch(node, part, path)
        elif isinstance(node, (ast.Break, ast.Continue)):
            if part.reached:
                ways = part.breaks if isinstance(node, ast.Break) else part.continues
                ways.append(dict(part.values))
            part.reached = False
        else:
            self.simple(node, part, path)

    def simple(self, node: ast.stmt, part: _Part, path: tuple[int, ...]) -> None:
        target = _target(node)
        self.reads(node, part, path)
        if target is None or target.id not in self.names:
            return
        if isinstance(node, ast.AugAssign):
            self.read(target, part, path)
        site = self.site(target, path)
        site.sets, site.replaces = True, isinstance(node, ast.Assign)
        part.values[target.id] = frozenset({id(target)})

    def branch(self, node: ast.If, part: _Part, path: tuple[int, ...]) -> None:
        self.reads(node.test, part, path)
        first = self.block(node.body, (*path, 0))
        second = self.block(node.orelse, (*path, 1))
        before = part.values
        for inner in (first, second):
            self.expose(inner, part)
            part.breaks += [_after(before, way) for way in inner.breaks]
            part.continues += [_after(before, way) for way in inner.continues]
        ends = [inner.values for inner in (first, second) if inner.reached]
        part.reached = part.reached and bool(ends)
        part.values = _after(before, _join(ends)) if ends else dict(before)

    def loop(self, node: ast.For | ast.While, part: _Part, path: tuple[int, ...]) -> None:
        """A loop: what a turn leaves is seen by the next one, or after the loop."""
        indices = {n.id for n in walk(node.target) if isinstance(n, ast.Name)} if isinstance(
            node, ast.For) else set()  # fmt: skip
        inner = _Part()
        if isinstance(node, ast.While):
            self.reads(node.test, inner, path)
        else:
            self.reads(node.iter, part, path)
        body = self.block(node.body, (*path, 0))
        self.expose(body, inner)
        for name in indices:
            inner.exposed.pop(name, None)
        turns = [*body.continues, *([body.values] if body.reached else [])]
        turn = _join(turns) if turns else {}
        for name, reads in inner.exposed.items():
            for origin in turn.get(name, _SAME) - _SAME:
                for key in reads:
                    self.unite(key, origin)
        self.expose(inner, part)
        begun = _join([{}, turn])  # the values where a turn begins
        left = _join([begun, *body.breaks])
        if isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and node.test.value:
            left = _join([_after(begun, way) for way in body.breaks]) if body.breaks else begun
        left |= {name: frozenset({INDEX}) for name in indices & self.names}
        part.values = _after(part.values, left)

    # -- reads ------------------------------------------------------------------------------

    def reads(self, node: ast.AST, part: _Part, path: tuple[int, ...]) -> None:
        for name in _loads(node):
            if name.id in self.names:
                self.read(name, part, path)

    def read(self, node: ast.Name, part: _Part, path: tuple[int, ...]) -> None:
        self.site(node, path)
        self.see(node.id, [id(node)], part)

    def expose(self, inner: _Part, part: _Part) -> None:
        """The reads in an inner block of values from before it."""
        for name, reads in inner.exposed.items():
            self.see(name, reads, part)

    def see(self, name: str, reads: list[int], part: _Part) -> None:
        origins = part.values.get(name, _SAME)
        if INDEX in origins and len(origins) > 1:
            self.unset.update(reads)
        for origin in origins - {INDEX}:
            if origin == BEFORE:
                part.exposed.setdefault(name, []).extend(reads)
            else:
                for key in reads:
                    self.unite(key, origin)

    def site(self, node: ast.Name, path: tuple[int, ...]) -> _Site:
        known = self.sites.get(id(node))
        if known is None:
            known = self.sites[id(node)] = _Site(node, path, tuple(self.statements))
        return known


def _target(node: ast.stmt) -> ast.Name | None:
    """The plain name that a statement assigns."""
    if isinstance(node, ast.AugAssign):
        return node.target if isinstance(node.target, ast.Name) else None
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0]
    return None


def _loads(node: ast.AST) -> Iterator[ast.Name]:
    for part in walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
            yield part


# -- variables ----------------------------------------------------------------------------------


class _Grouping:
    """Makes a variable of each group of sites."""

    def __init__(
        self,
        flow: _Flow,
        part: _Part,
        params: dict[str, ast.arg],
        taken: set[str],
        results: Container[str],
    ) -> None:
        self.flow, self.params, self.taken, self.returned = flow, params, taken, results
        self.result = Variables(flow.names)
        self.begun: dict[int, str] = {}
        for name, reads in part.exposed.items():
            if name in params:
                self.begin(name, reads)
            else:
                self.result.unset |= dict.fromkeys(reads, self.first_assignment(name))
        for key in flow.unset:
            self.result.unset[key] = self.first_assignment(flow.sites[key].node.id)
        self.join_results()

    def join_results(self) -> None:
        """The assignments of a result belong together: it is read at the end."""
        first: dict[str, int] = {}
        for key, site in self.flow.sites.items():
            if site.node.id in self.returned:
                self.flow.unite(key, first.setdefault(site.node.id, key))

    def begin(self, name: str, reads: list[int]) -> None:
        """The reads that may see the value of a parameter belong together."""
        for key in reads:
            self.flow.unite(key, reads[0])
        self.begun[reads[0]] = name

    def first_assignment(self, name: str) -> ast.Name:
        sites = (s.node for s in self.flow.sites.values() if s.sets and s.node.id == name)
        return min(sites, key=lambda node: (node.lineno, node.col_offset))

    def found(self) -> Variables:
        groups: dict[int, list[_Site]] = {}
        for key, site in self.flow.sites.items():
            groups.setdefault(self.flow.origin(key), []).append(site)
        begun = {self.flow.origin(key): name for key, name in self.begun.items()}
        ordered = sorted(groups.items(), key=lambda group: _first(group[1]))
        used: set[str] = set()
        for origin, sites in ordered:
            assignments = [site for site in sites if site.sets]
            if not assignments:
                continue  # reads of a parameter, or of a name that may have no value
            name = assignments[0].node.id
            is_let = origin not in begun and name not in self.returned
            is_let = is_let and _is_let(assignments, sites)
            own = is_let and name not in self.params
            variable = Variable(name if own else self.named(name, used), is_let)
            for site in sites:
                self.result.by_node[id(site.node)] = variable
            if origin in begun:
                self.result.parameters[begun[origin]] = variable
            elif not is_let:
                before = id(_beginning(sites))
                self.result.declared.setdefault(before, []).append(variable)
        return self.result

    def named(self, name: str, used: set[str]) -> str:
        """The name of a variable: a second one of this name has a number."""
        found, number = name, 1
        while found in used or (number > 1 and found in self.taken) or found in self.params:
            number += 1
            found = f"{name}_{number}"
        used.add(found)
        return found


def _first(sites: list[_Site]) -> tuple[int, int]:
    return min((site.node.lineno, site.node.col_offset) for site in sites)


def _is_let(assignments: list[_Site], sites: list[_Site]) -> bool:
    """Whether the only assignment stands before all reads, in their block or around it."""
    if len(assignments) > 1 or not assignments[0].replaces:
        return False
    *block, position = assignments[0].path
    return all(
        site is assignments[0]
        or (list(site.path[: len(block)]) == block and site.path[len(block)] > position)
        for site in sites
    )


def _beginning(sites: list[_Site]) -> ast.stmt:
    """The statement before which a variable begins: the first in the innermost block that has all
    sites."""
    paths = [site.path for site in sites]
    shared = 0
    for steps in zip(*paths, strict=False):
        if len(set(steps)) > 1:
            break
        shared += 1
    shared -= shared % 2  # positions of statements stand at even places, branches between them
    first = min(sites, key=lambda site: site.path[shared])
    return first.statements[shared // 2]
