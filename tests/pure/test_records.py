"""``records.frozen`` and ``define`` beside those of ``attrs``: the same, made later."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finch_core import records


def classes(decorate: Any) -> dict[str, type]:
    """Classes of all kinds that are in use, made by ``decorate`` or its like in ``attrs``."""

    @decorate
    class Empty:
        pass

    @decorate
    class Pair:
        left: Any
        right: Any = attrs.field(default=0, eq=False)
        hidden: Any = attrs.field(default=0, repr=False)
        _private: Any = 0

    @decorate
    class More(Pair):
        third: Any = 0

    class Plain(Pair):  # not decorated
        pass

    @decorate(eq=False)
    class Thing:
        left: Any

    @decorate
    class Own:
        left: Any

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 1

    return {c.__name__: c for c in (Empty, Pair, More, Plain, Thing, Own)}


@pytest.mark.parametrize("kind", ["frozen", "define"])
@given(st.data())
def test_they_compare_and_print_as_those_of_attrs_do(kind: str, data: Any) -> None:
    ours, theirs = classes(getattr(records, kind)), classes(getattr(attrs, kind))
    names = st.sampled_from(sorted(ours))
    value = st.sampled_from([0, 1, "a", (1, 2)])
    first, second = data.draw(names), data.draw(names)
    made: list[list[Any]] = [[], []]
    for name in (first, second):
        count = len(attrs.fields(theirs[name]))
        values = data.draw(st.tuples(*[value] * count))
        for made_, family in zip(made, (ours, theirs), strict=True):
            made_.append(family[name](*values))
    (a, b), (x, y) = made
    assert (a == b, a != b, a == a, a == "a") == (x == y, x != y, x == x, x == "a")
    assert (b == a) == (y == x)
    assert (repr(a) == repr(b)) == (repr(x) == repr(y))
    assert repr(a) == repr(x)
    assert (type(a).__hash__ is None) == (type(x).__hash__ is None)
    if kind == "frozen":
        assert hash(a) == hash(a)
        assert a != b or hash(a) == hash(b) or "Own" in (first, second)
        assert len({a, b}) == len({x, y})
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            a.left = 1


def test_what_is_equal_hashes_alike_before_and_after_it_is_compared() -> None:
    Pair = classes(records.frozen)["Pair"]
    before = hash(Pair(1))
    assert before == hash(Pair(1, 5)) != hash(Pair(2))
    assert Pair(1) == Pair(1, 5) != Pair(2)
    assert hash(Pair(1)) == before


def test_two_classes_of_the_same_fields_differ() -> None:
    Pair, More = (classes(records.frozen)[name] for name in ("Pair", "More"))
    assert Pair(1) != More(1)
    assert More(1) != Pair(1)
    assert len({Pair(1), More(1)}) == 2


@records.frozen
class Node:
    name: str
    children: tuple[Any, ...] = ()
    seen: list[Any] = attrs.field(factory=list, eq=False)


def test_copies_and_pickles_are_equal() -> None:
    node = Node("a", (Node("b"),))
    for other in (copy.copy(node), copy.deepcopy(node), pickle.loads(pickle.dumps(node))):
        assert other == node
        assert hash(other) == hash(node)
    assert attrs.evolve(node, name="c") == Node("c", (Node("b"),))
    assert not hasattr(node, "__dict__")


def test_what_holds_itself_is_printed() -> None:
    node = Node("a")
    node.seen.append(node)
    assert repr(node) == "Node(name='a', children=(), seen=[...])"


def test_options_of_attrs_reach_it() -> None:
    @records.frozen(kw_only=True, slots=False)
    class Open:
        value: int

    assert Open(value=1) == Open(value=1)
    with pytest.raises(TypeError):
        Open(1)
    assert Open(value=1).__dict__ == {"value": 1}
