"""Kernels parse to the programs that they say: seen through the text of the program."""

import math
import textwrap
import time

import numpy as np
import pytest

from finch_core.frontend import parse
from finch_core.frontend.functions import (
    choose,
    coalesce,
    follow,
    freeze,
    gallop,
    ifelse,
    maxby,
    minby,
    missing,
    thaw,
    walk,
)
from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import BOOL
from finch_core.ir.expressions import Access, Call, Cast, Index, Literal, Modified, Name
from finch_core.ir.program import Declare, Define, Extent, Loop, Sequential, Sieve, Update

alpha = 2.0
weights = np.ones(3)


def text(function):
    return parse(function).as_text()


def body(source):
    """A program's text with the body ``source``."""
    return (
        "def kernel(y, A):\n" + textwrap.indent(textwrap.dedent(source).strip("\n"), "    ") + "\n"
    )


def value(function):
    """The value of the only update of a kernel."""
    (update,) = (n for n in parse(function).body.walk() if isinstance(n, Update))
    return update.value


def test_spmv():
    def spmv(y, A, x):
        """Docstrings are allowed."""
        y[...] = 0
        for i, j in _:
            y[i] += A[i, j] * x[j]
        return y

    program = parse(spmv)
    i, j = Index("i"), Index("j")
    product = Call(prim.mul, (Access("A", (i, j)), Access("x", (j,))))
    assert program.body == Sequential(
        (
            Declare("y", Literal(0, int)),
            Loop(i, None, Loop(j, None, Update(Access("y", (i,)), prim.add, product))),
        )
    )
    assert (program.name, program.params) == ("spmv", ("y", "A", "x"))
    assert (program.results, program.single) == (("y",), True)
    assert (program.free, program.captured, program.locals) == ((), (), ())


def test_text_of_spmv():
    def spmv(y, A, x):
        y[...] = 0
        for i, j in _:
            y[i] += A[i, j] * x[j]
        return y

    assert text(spmv) == (
        "def spmv(y, A, x):\n"
        "    y[...] = 0\n"
        "    for i, j in _:\n"
        "        y[i] += A[i, j] * x[j]\n"
        "    return y\n"
    )


def test_several_results():
    def kernel(y, A):
        y[0] = A[0]
        return y, A

    program = parse(kernel)
    assert (program.results, program.single) == (("y", "A"), False)
    assert text(kernel).endswith("return y, A\n")


def test_one_result_in_a_tuple():
    def kernel(y, A):
        y[0] = A[0]
        return (y,)

    program = parse(kernel)
    assert (program.results, program.single) == (("y",), False)
    assert text(kernel).endswith("return y,\n")


def test_ranges_and_branches():
    def kernel(y, A):
        for i in range(3):
            for j in range(i, 2 * i + 1):
                if i == j:
                    y[i] = 1
                elif not i < j < 7:
                    y[i] = 2
                else:
                    y[i] = 3

    assert text(kernel) == body(
        """
        for i in range(3):
            for j in range(i, 2 * i + 1):
                if i == j:
                    y[i] = 1
                elif not (i < j and j < 7):
                    y[i] = 2
                else:
                    y[i] = 3
        """
    )


def test_a_variable_holds_to_the_end_of_its_block():
    def kernel(y, A):
        for i in _:
            y[i] = 0
            x = A[i]
            y[i] += x
        y[0] += 1

    loop, last = parse(kernel).body.statements
    first, define = loop.body.statements
    assert isinstance(first, Update)
    assert isinstance(define, Define)
    assert define.name == Name("x")
    assert isinstance(define.body, Update)
    assert isinstance(last, Update)
    assert text(kernel) == body(
        """
        for i in _:
            y[i] = 0
            x = A[i]
            y[i] += x
        y[0] += 1
        """
    )


def test_siblings_may_bind_the_same_names():
    def kernel(y, A):
        for i in _:
            x = A[i]
            y[i] = x
        for i in _:
            x = A[i]
            y[i] += x

    assert len(parse(kernel).body.statements) == 2


@pytest.mark.parametrize("symbol", ["+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>"])
def test_augmented_updates(symbol, tmp_path):
    path = tmp_path / "augmented.py"
    path.write_text(f"def kernel(y, A):\n    for i in _:\n        y[i] {symbol}= A[i]\n")
    scope = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    assert text(scope["kernel"]) == path.read_text()


def test_reductions_written_as_assignments():
    def kernel(y, A):
        for i in _:
            y[i] = min(y[i], A[i])
            y[i] = choose(0)(y[i], A[i])
            y[i] = y[i] + A[i]
            y[i] = y[i] or A[i]
            y[i] = minby(y[i], (A[i], i))
            y[i] = np.maximum(y[i], A[i])
            y[i] = y[A[i]] + A[i]

    updates = parse(kernel).body.body.statements
    names = [update.op and update.op.name for update in updates]
    assert names == ["min", "choose(0)", "add", "or_value", "minby", "maximum", None]


def test_a_chain_of_one_operator_is_updates_in_order():
    def kernel(y, A):
        for i in _:
            y[i] = y[i] + A[i] + 2
            y[i] = max(y[i], A[i], 3)

    assert text(kernel) == body(
        """
        for i in _:
            y[i] += A[i]
            y[i] += 2
            y[i] = max(y[i], A[i])
            y[i] = max(y[i], 3)
        """
    )


def weighted(a, b):
    return a + 2 * b


def test_a_python_function_as_reduction():
    def kernel(y, A):
        for i in _:
            y[i] = weighted(y[i], A[i])
            y[i] = weighted(y[i], 1)

    first, second = parse(kernel).body.body.statements
    assert first.op is second.op
    assert first.op.name == "weighted"
    assert first.op.definition(Name("p"), Name("q")) == Call(
        prim.add, (Name("p"), Call(prim.mul, (Literal(2, int), Name("q"))))
    )
    assert first.op.evaluate(np.float32(1), np.float32(3)) == np.float32(7)
    assert first.op.result(np.dtype("f4"), np.dtype("f8")) == np.dtype("f8")


def test_modifiers_of_indices():
    def kernel(y, A):
        for i in _:
            y[i] = coalesce(A[~(i - 1), follow(~i), walk(i), gallop(i)], missing, 0)

    access = value(kernel).args[0]
    assert access.indices[0] == Modified(
        "permissive", Call(prim.sub, (Index("i"), Literal(1, int)))
    )
    assert access.indices[1] == Modified("follow", Modified("permissive", Index("i")))
    assert text(kernel) == body(
        """
        for i in _:
            y[i] = coalesce(A[~(i - 1), follow(~i), walk(i), gallop(i)], missing, 0)
        """
    )


def test_outside_an_index_a_tilde_inverts_bits():
    def kernel(y, A):
        y[0] = ~A[0]

    assert value(kernel) == Call(prim.invert, (Access("A", (Literal(0, int),)),))


def test_the_language_needs_no_imports(tmp_path):
    path = tmp_path / "bare.py"
    path.write_text(
        "def kernel(y, A):\n"
        "    for i in _:\n"
        "        y[i] = maxby(y[i], (coalesce(A[~walk(i)], missing, 0), 1))\n"
        "        freeze(y)\n"
        "        thaw(y)\n"
    )
    scope = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    assert text(scope["kernel"]) == path.read_text()


def test_lifecycle_statements():
    def kernel(y, A):
        freeze(y)
        thaw(y)
        y[0] = A[0]

    assert text(kernel) == body("freeze(y)\nthaw(y)\ny[0] = A[0]")


def test_literals():
    def kernel(y, A):
        y[()] = (-2, -0.5, 1j, True, math.inf, -np.inf, np.float32(0.5), 1e300)

    parts = value(kernel).args
    assert [part.type for part in parts[:4]] == [int, float, complex, BOOL]
    assert parts[0] == Literal(-2, int)
    assert parts[6] == Literal(np.float32(0.5), np.dtype("f4"))
    assert text(kernel) == body(
        "y[()] = (-2, -0.5, 1j, True, np.inf, -np.inf, np.float32(0.5), 1e+300)"
    )


def test_a_tuple_of_constants_declares():
    def kernel(y, A):
        y[...] = (math.inf, -1)
        y[()] = minby(y[()], (A[0], 0))

    init = parse(kernel).body.statements[0].init
    assert isinstance(init, Literal)
    assert init.value == (math.inf, -1)
    assert init.type == np.dtype([("f0", "f8"), ("f1", "i8")])
    assert text(kernel) == body("y[...] = (np.inf, -1)\ny[()] = minby(y[()], (A[0], 0))")


def test_elements_of_tuples():
    def kernel(y, A):
        t = (A[0], 1)
        y[0] = t[0] + A[1][1] + (A[2], 2)[1]

    assert text(kernel) == body("t = (A[0], 1)\ny[0] = t[0] + A[1][1] + 2")


def test_casts_and_rounding():
    def kernel(y, A):
        y[()] = (
            float(A[0]), int(A[0]), bool(A[0]), complex(A[0]), np.float32(A[0]), round(A[0]),
            math.floor(A[0]), np.floor(A[0]),
        )  # fmt: skip

    parts = value(kernel).args
    dtypes = [part.type for part in parts[:5]]
    assert dtypes == [np.dtype(t) for t in ("f8", "i8", "?", "c16", "f4")]
    assert all(isinstance(part, Cast) for part in parts[:7])
    assert [parts[5].value.op.name, parts[6].value.op.name] == ["round", "floor"]
    assert parts[7].op.name == "floor"


def test_conditional_expressions():
    def kernel(y, A):
        y[0] = A[0] if (A[0] > 0 and A[1]) or A[2] else ifelse(A[1], 1, 2)

    assert text(kernel) == body("y[0] = A[0] if A[0] > 0 and A[1] or A[2] else 1 if A[1] else 2")


def test_functions_that_stand_for_expressions():
    def kernel(y, A):
        y[()] = (np.square(A[0]), np.clip(A[0], 0, 1), math.log(A[0], 2), divmod(A[0], 3))

    assert text(kernel) == body(
        "y[()] = (A[0] * A[0], np.minimum(np.maximum(A[0], 0), 1), np.log(A[0]) / np.log(2), "
        "(A[0] // 3, A[0] % 3))"
    )


def test_complex_numbers_of_parts():
    def kernel(y, A):
        y[0] = complex(A[0], 1) + complex(A[1])

    made, cast = value(kernel).args
    assert made == Call(prim.make_complex, (Access("A", (Literal(0, int),)), Literal(1, int)))
    assert cast.type == np.complex128


def test_parts_of_complex_numbers():
    def kernel(y, A):
        y[0] = A[0].real + np.imag(A[0])

    assert value(kernel).args[0] == Call(prim.real, (Access("A", (Literal(0, int),)),))


def test_conjugates_and_dates_that_are_none():
    def kernel(y, A):
        y[0] = A[0].conjugate()
        y[0] = A[0].conj()
        y[0] = np.conj(A[0])
        y[1] = np.isnat(A[0])

    conj, method, function, isnat = parse(kernel).body.statements
    element = Access("A", (Literal(0, int),))
    assert conj.value == method.value == function.value == Call(prim.conjugate, (element,))
    assert isnat.value == Call(prim.ne, (element, element))


def test_parentheses_only_where_needed():
    def kernel(y, A):
        y[0] = -(((A[0] + 1) * 2) ** -A[1]) - (A[2] - (1 - A[3])) / (2 / A[4])
        y[1] = (A[0] < 1) == (A[1] & 3 | A[2] ^ 1)
        y[2] = (1 if A[0] else 2) + 1

    assert text(kernel) == body(
        """
        y[0] = -((A[0] + 1) * 2) ** -A[1] - (A[2] - (1 - A[3])) / (2 / A[4])
        y[1] = (A[0] < 1) == A[1] & 3 | A[2] ^ 1
        y[2] = (1 if A[0] else 2) + 1
        """
    )


def test_free_names_are_looked_up_at_each_call():
    beta = 3

    def kernel(y, A):
        for i in _:
            y[i] = alpha * weights[i] + beta * A[i]

    program = parse(kernel)
    assert program.free == ("alpha", "weights", "beta")
    assert program.captured == ()


def test_captured_functions():
    def kernel(y, A):
        y[0] = np.sqrt(weighted(A[0], 1))

    assert parse(kernel).captured == (("np", np), ("weighted", weighted))


def test_run_time_arguments():
    def kernel(y, n, x):
        for i in range(n):
            y[i] = x

    update = parse(kernel).body.body
    assert update.value == Name("x")
    assert parse(kernel).body.extent == Extent(Literal(0, int), Name("n"))


def test_spans_hold_the_place_in_the_file():
    def kernel(y, A):
        for i in _:
            y[i] += A[i]

    update = parse(kernel).body.body
    line = kernel.__code__.co_firstlineno + 2
    assert (update.span.line, update.span.column, update.span.end_column) == (line, 12, 24)
    assert update.target.span.end_column == 16
    assert parse(kernel).source.filename == __file__
    assert parse(kernel).spans["A"].column == 18


def keep(function):
    return function


def test_a_decorated_function_in_unicode():
    @keep
    def kernel(größe, A):
        for i in _:
            größe[i] += A[i]

    program = parse(kernel)
    assert program.params == ("größe", "A")
    assert program.body.body.value.span.column == 24


def test_sieves_have_an_else():
    def kernel(y, A):
        if A[0] > 0:
            y[0] = 1
        else:
            pass

    sieve = parse(kernel).body
    assert isinstance(sieve, Sieve)
    assert sieve.orelse == Sequential()
    assert text(kernel) == body("if A[0] > 0:\n    y[0] = 1")


def test_parsing_is_fast():
    def spmv(y, A, x):
        y[...] = 0
        for i, j in _:
            y[i] += A[i, j] * x[j]
        return y

    def seconds():
        start = time.perf_counter()
        parse(spmv)
        return time.perf_counter() - start

    assert min(seconds() for _trial in range(20)) < 3e-3


def test_text_parses_to_an_equal_program(tmp_path):
    def kernel(y, A):
        y[...] = 0
        for i, j in _:
            x = A[~(i - 1), j] if i < j <= 9 else (1, 2)[0]
            if not (x == 1 or x > 5):
                y[i] = max(y[i], coalesce(x, missing, 3**-i))
            elif i == 3:
                y[i] += np.float32(x) - (2 - x)
            else:
                y[i] = maxby((x, i), (x, j))[1]
        return y

    program = parse(kernel)
    path = tmp_path / "again.py"
    path.write_text(program.as_text())
    scope = {"np": np, "maxby": maxby}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    assert parse(scope["kernel"]).body == program.body
