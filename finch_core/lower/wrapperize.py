"""Wrapperization: index expressions become wrapper tensors, and conditions become masks (paper,
Figure "Wrapperization" and Table "Wrapper tensors").

    if i <= j:                        if UpTriMask()[i, j]:
        s[()] += A[i - 1, j]   ->         s[()] += offset(A, (-1, 0))[i, j]

The installed wrappers and masks decide what an index or a comparison becomes; the core knows
none of them.
"""

from __future__ import annotations

from typing import Any

from finch_core.errors import MISTAKES, FinchError, PluginError, mistaken
from finch_core.interface.plugins import hub
from finch_core.interface.views import StoredView
from finch_core.ir import primitives as prim
from finch_core.ir.expressions import Access, Call, Expr, Index, Name, lift
from finch_core.ir.program import Define, Loop, Sieve, Stmt, Stored, Update
from finch_core.ir.rewrite import rewrite_expr
from finch_core.lower.missing_indices import (
    may_be_absent,
    present_indices,
    require_no_absence,
)
from finch_core.lower.pass_state import Unit, Updated, changes_of_mode
from finch_core.records import evolve
from finch_core.symbolic.affine import Scope
from finch_core.symbolic.missing_values import fill_for_missing
from finch_core.symbolic.split_comparisons import split_comparison


def wrapperize(stmt: Stmt, unit: Unit) -> Stmt:
    """Offer accesses to the wrappers and comparisons to the masks, until none of them applies."""
    found = [*unit.hub.wrappers.values(), *unit.hub.masks.values()]
    wrappers = [w for w in found if hasattr(w, "match_access")]
    wrappers.sort(key=lambda w: not getattr(w, "permutes", False))  # permutations first
    masks = [m for m in found if hasattr(m, "match_condition")]
    pass_ = _Wrapperizer(tuple(wrappers), tuple(masks), unit, Updated(stmt))
    return pass_.stmt(stmt, Scope(bound=changes_of_mode(stmt)))


class _Wrapperizer:
    def __init__(
        self,
        wrappers: tuple[Any, ...],
        masks: tuple[Any, ...],
        unit: Unit,
        updated: Updated,
    ) -> None:
        self.wrappers, self.masks, self.unit, self.updated = wrappers, masks, unit, updated
        self.absent: set[Name] = set()
        """Names of values that may be missing."""

    def stmt(self, stmt: Stmt, scope: Scope) -> Stmt:
        inner = scope
        if isinstance(stmt, Loop):
            inner = scope.inside(stmt.index, self.updated[stmt])
        elif isinstance(stmt, Define):
            inner = scope.binding(stmt.name)
        target = stmt.target if isinstance(stmt, Update) else None
        given = (truth(stmt.cond),) if isinstance(stmt, Sieve) else stmt.exprs
        exprs = tuple(
            self.target(expr, scope) if expr is target else self.expr(expr, scope) for expr in given
        )
        if isinstance(stmt, Loop):
            require_no_absence(exprs, self.absent, "an end of a range is", stmt.span)
        elif isinstance(stmt, Define) and may_be_absent(exprs[0], self.absent):
            self.absent.add(stmt.name)
        return stmt.rebuild(exprs, tuple(self.stmt(body, inner) for body in stmt.bodies))

    def expr(self, expr: Expr, scope: Scope) -> Expr:
        return rewrite_expr(expr, lambda node: self.rule(node, scope))

    def target(self, access: Access, scope: Scope) -> Expr:
        """The access that an update writes; its indices are read.

        Some wrappers take no updates but those in place: ``unit.scattered`` has the access for
        others. Where indices share elements, a part of them cannot be updated in place.
        """
        indices = tuple(self.expr(index, scope) for index in access.indices)
        require_no_absence(indices, self.absent, "the index of what is written is", access.span)
        target = evolve(access, indices=indices)
        scattered = self.rule(target, evolve(scope, written=True))
        root = target.tensor.root
        if root is None or any(lvl.shares for lvl in root.format.levels() if not lvl.is_leaf):
            return scattered
        found = self.rule(target, scope)
        if found != scattered and isinstance(found, Access) and isinstance(scattered, Access):
            self.unit.scattered[found] = scattered
        return found

    def rule(self, node: Expr, scope: Scope) -> Expr:
        if isinstance(node, Stored):
            found = node.access
            if isinstance(found, Call) and found.op is prim.ifelse:  # an index may be missing
                return found.args[0].and_(self.structure(found.args[1]))
            return self.structure(found)
        if isinstance(node, Access):
            known = present_indices(node, self.absent)
            if isinstance(known, Call):
                cond, access, none = known.args
                return evolve(known, args=(cond, self.rule(access, scope), none))
        node = self.access(node, scope)
        if isinstance(node, Call):
            node = self.truths(fill_for_missing(node), scope)
        if isinstance(node, Call):
            parts = split_comparison(node)
            if parts is not None:
                return evolve(parts, args=tuple(self.rule(part, scope) for part in parts.args))
            for mask in self.masks:
                found = matched(mask, "match_condition", node, scope)
                if found is not None:
                    result: Expr = found
                    self.unit.compared[result] = node
                    return result
        return node

    def truths(self, node: Expr, scope: Scope) -> Expr:
        """A call in which indices of which only the truth is used are comparisons with 0."""
        if not isinstance(node, Call) or node.op not in (*_TRUTHS, prim.ifelse):
            return node
        count = len(node.args) if node.op in _TRUTHS else 1
        if not any(isinstance(a, Index) for a in node.args[:count]):
            return node
        conds = [self.rule(truth(a), scope) if isinstance(a, Index) else a
                 for a in node.args[:count]]  # fmt: skip
        return evolve(node, args=(*conds, *node.args[count:]))

    def structure(self, access: Expr) -> Expr:
        """The access of the structure; of a mask that became a comparison, the comparison."""
        if not isinstance(access, Access):
            return access
        found = of_structure(access)
        if access in self.unit.plain:
            self.unit.plain[found] = of_structure(self.unit.plain[access])
        return found

    def access(self, node: Expr, scope: Scope) -> Expr:
        """``node`` after all wrappers; a mask may replace a comparison by an access of itself.
        Raises ``PluginError`` if replacements do not end."""
        plain, times = None, 0
        while isinstance(node, Access):
            times += 1
            if plain is None and None not in node.tensor.dims:
                plain = node
            matches = ((w, matched(w, "match_access", node, scope)) for w in self.wrappers)
            wrapper, found = next((pair for pair in matches if pair[1] is not None), (None, None))
            if found is None:
                break
            if times > MOST:
                raise PluginError(
                    f"match_access of {wrapper_name(wrapper)} does not end: after {MOST} "
                    f"replacements it replaces {node} again",
                    hint="it returns None for an access that it has replaced already",
                )
            node = found
        if plain is not None and isinstance(node, Access) and node is not plain:
            self.unit.plain[node] = plain
        return node


def truth(cond: Expr) -> Expr:
    """A condition; of an index ``i != 0``, which has a mask."""
    return Call(prim.ne, (cond, lift(0))) if isinstance(cond, Index) else cond


_TRUTHS = prim.and_, prim.or_, prim.not_

MOST = 1000
"""The most replacements of one access: more than any program nests wrappers."""


def matched(wrapper: Any, method: str, node: Expr, scope: Scope) -> Any:
    """The expression by which a wrapper or mask replaces ``node``, or None.

    Raises ``PluginError`` if it fails, or gives anything else; other errors that it raises are
    passed on.
    """
    try:
        found = getattr(wrapper, method)(node, scope)
    except FinchError:
        raise
    except MISTAKES as error:
        raise mistaken(f"{method} of {wrapper_name(wrapper)}", error) from error
    if found is None or isinstance(found, Expr):
        return found
    raise PluginError(
        f"{method} of {wrapper_name(wrapper)} gives {found!r:.60}, which is not an expression",
        hint="it returns an expression that means the same, or None",
    )


def wrapper_name(wrapper: Any) -> str:
    """A wrapper or mask and its plugin, for messages."""
    name: str = getattr(wrapper, "name", "") or getattr(wrapper, "__name__", repr(wrapper))
    for kind, known in (("wrapper", hub().wrappers), ("mask", hub().masks)):
        if known.get(name) is wrapper:
            return f"the {kind} {name!r} of {hub().owner(kind, name)}"
    return repr(name)


def of_structure(access: Access) -> Access:
    """The access of whether the element of ``access`` is stored."""
    return evolve(access, tensor=StoredView(access.tensor))
