"""``records.frozen`` and ``define`` beside those of ``attrs``: the same, made later."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
from functools import cache, cached_property
from typing import Any, ClassVar

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finch_core import records


@cache
def classes(module: Any, kind: str) -> dict[str, type]:
    """Classes of all kinds that are in use, made by ``records`` or ``attrs``."""
    decorate, field = getattr(module, kind), module.field

    @decorate
    class Empty:
        pass

    @decorate
    class Pair:
        left: Any
        right: Any = field(default=0, eq=False)
        hidden: Any = field(default=0, repr=False)
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

    @decorate
    class Derived:
        left: Any = field(converter=str)
        right: Any = field(factory=list, kw_only=True)
        kinds: ClassVar[int] = 3
        size: Any = field(init=False)
        later: Any = field(init=False, default=5)
        made: Any = field(init=False)

        @size.default
        def _of_left(self) -> int:
            return len(self.left)

        def __attrs_post_init__(self) -> None:
            object.__setattr__(self, "made", __class__)  # type: ignore[name-defined]

        @property
        def own(self) -> bool:
            return self.made is __class__  # type: ignore[name-defined,no-any-return]

    @decorate
    class Replaced(Pair):
        right: Any = 7

    @decorate(unsafe_hash=True, cache_hash=True)
    class Kept:
        left: Any

    return {c.__name__: c for c in (Empty, Pair, More, Plain, Thing, Own, Derived, Replaced, Kept)}


def made(cls: Any, values: tuple[Any, ...]) -> Any:
    """An object with the first of ``values``, as many as ``__init__`` takes by place."""
    parameters = list(inspect.signature(cls).parameters.values())
    return cls(*values[: sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters)])


@pytest.mark.parametrize("kind", ["frozen", "define"])
@given(st.data())
def test_they_compare_and_print_as_those_of_attrs_do(kind: str, data: Any) -> None:
    ours, theirs = classes(records, kind), classes(attrs, kind)
    names = st.sampled_from(sorted(ours))
    value = st.sampled_from([0, 1, "a", (1, 2)])
    first, second = data.draw(names), data.draw(names)
    both: list[list[Any]] = [[], []]
    for name in (first, second):
        values = data.draw(st.tuples(*[value] * 5))
        for objects, family in zip(both, (ours, theirs), strict=True):
            objects.append(made(family[name], values))
    (a, b), (x, y) = both
    assert (a == b, a != b, a == a, a == "a") == (x == y, x != y, x == x, x == "a")
    assert (b == a) == (y == x)
    assert (repr(a) == repr(b)) == (repr(x) == repr(y))
    assert repr(a) == repr(x)
    assert (type(a).__hash__ is None) == (type(x).__hash__ is None)
    assert [f.name for f in attrs.fields(type(a))] == [f.name for f in attrs.fields(type(x))]
    assert type(a).__match_args__ == type(x).__match_args__
    assert a.own if first == "Derived" else True
    if kind == "frozen" and "Derived" not in (first, second):  # which has a list
        assert hash(a) == hash(a)
        assert a != b or hash(a) == hash(b) or "Own" in (first, second)
        assert len({a, b}) == len({x, y})
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            a.left = 1


def test_what_is_equal_hashes_alike_before_and_after_it_is_compared() -> None:
    Pair = classes(records, "frozen")["Pair"]
    before = hash(Pair(1))
    assert before == hash(Pair(1, 5)) != hash(Pair(2))
    assert Pair(1) == Pair(1, 5) != Pair(2)
    assert hash(Pair(1)) == before


def test_two_classes_of_the_same_fields_differ() -> None:
    Pair, More = (classes(records, "frozen")[name] for name in ("Pair", "More"))
    assert Pair(1) != More(1)
    assert More(1) != Pair(1)
    assert len({Pair(1), More(1)}) == 2


@records.frozen
class Node:
    name: str
    children: tuple[Any, ...] = ()
    seen: list[Any] = records.field(factory=list, eq=False)


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


@pytest.mark.parametrize("name", ["Empty", "Pair", "More", "Thing", "Derived", "Replaced"])
@pytest.mark.parametrize("kind", ["frozen", "define"])
def test_init_takes_what_that_of_attrs_takes(kind: str, name: str) -> None:
    ours, theirs = (inspect.signature(classes(m, kind)[name]) for m in (records, attrs))
    assert list(ours.parameters) == list(theirs.parameters)
    for mine, other in zip(ours.parameters.values(), theirs.parameters.values(), strict=True):
        assert mine.kind == other.kind
        assert (mine.default is mine.empty) == (other.default is other.empty)
        assert mine.annotation == other.annotation or name == "Derived"


def test_a_validator_is_told_the_field() -> None:
    def small(record: Any, field: Any, value: int) -> None:
        if value > 9:
            raise ValueError(f"{field.name} is {value}")

    @records.frozen
    class Digit:
        value: int = records.field(validator=small)

    assert Digit(3).value == 3
    with pytest.raises(ValueError, match="value is 10"):
        Digit(10)
    with pytest.raises(ValueError, match="value is 10"):
        records.evolve(Digit(3), value=10)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'value'"):
        Digit()


def test_values_are_cached_where_the_class_asks_for_it() -> None:
    @records.frozen
    class Square:
        side: int

        @cached_property
        def area(self) -> int:
            return self.side**2

    square = Square(3)
    assert square.area == square.area == 9
    assert records.evolve(square, side=4).area == 16


def test_classes_of_attrs_and_records_may_be_each_others_bases() -> None:
    Pair = classes(records, "frozen")["Pair"]

    @attrs.frozen
    class Theirs(Pair):  # type: ignore[misc,valid-type]
        own: int = 4

    @records.frozen
    class Ours(Theirs):
        more: int = 5

    names = ["left", "right", "hidden", "_private", "own", "more"]
    assert [f.name for f in records.fields(Theirs)] == names[:-1]
    assert [f.name for f in records.fields(Ours)] == names
    assert records.has(Theirs)
    assert not records.has(int)
    made = Ours(1, private=2, own=6)
    assert (made._private, made.own, made.more) == (2, 6, 5)
    assert records.evolve(made, own=7) == Ours(1, private=2, own=7) == attrs.evolve(made, own=7)
    assert records.evolve(Theirs(1), own=5) == Theirs(1, own=5) != Pair(1)


def test_importing_the_package_leaves_attrs_alone() -> None:
    code = "import sys, finch_levels; from finch_core import Tensor, kernel; finch_levels.Dense; "
    code += "assert 'attr' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_options_of_attrs_reach_it() -> None:
    @records.frozen(kw_only=True, slots=False)
    class Open:
        value: int

    assert Open(value=1) == Open(value=1)
    with pytest.raises(TypeError):
        Open(1)
    assert Open(value=1).__dict__ == {"value": 1}


def test_what_another_thread_has_written_meanwhile_is_taken() -> None:
    """A thread may have looked up what writes ``__init__`` before another one replaces it."""

    @records.define
    class Base:
        first: int
        second: int = 0

    class Own(Base):
        def __init__(self, value: int) -> None:
            super().__init__(value, second=value + 1)

    initializer, described = vars(Base)["__init__"], vars(Base)["__attrs_attrs__"]
    assert inspect.signature(Base).parameters.keys() == {"first", "second"}
    assert attrs.has(Base)
    made = Own(1)
    initializer.__get__(made, Own)(3, 4)
    assert (made.first, made.second) == (3, 4)
    assert described.__get__(None, Own) is vars(Base)["__attrs_attrs__"]
    assert "__attrs_attrs__" not in vars(Own)
    assert (Own(5).first, Own(5).second) == (5, 6)


@pytest.mark.parametrize("kind", ["frozen", "define"])
@pytest.mark.parametrize("module", [records, attrs], ids=["records", "attrs"])
def test_a_field_is_replaced_without_checks(module, kind):
    checks = []
    decorate, field = getattr(module, kind), module.field

    @decorate
    class Checked:
        left: Any = field(converter=float)
        right: Any = 0
        _own: Any = 0

        def __attrs_post_init__(self):
            checks.append(self.left)

    first = Checked(1, [2], own=3)
    checks.clear()
    replace = records.replacing(Checked, "left", "_own")
    second = replace(first, 2.0, 4)
    assert second == Checked(2, [2], own=4)
    assert second.right is first.right
    assert (first.left, first._own) == (1.0, 3)
    assert checks[:-1] == ([] if module is records else [2.0])


@pytest.mark.parametrize("cached", [False, True])
def test_what_an_object_has_kept_of_its_fields_is_not_copied(cached):
    class Base:  # without slots, so that objects have a dict
        pass

    @records.frozen
    class Kept(Base):
        value: Any
        other: Any = 1

        @cached_property
        def doubled(self):
            return 2 * self.value

    first = Kept(3)
    if cached:
        assert first.doubled == 6
    second = records.replacing(Kept, "value")(first, 4)
    assert (second.value, second.other, second.doubled) == (4, 1, 8)
