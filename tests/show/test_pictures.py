"""The pictures of tensors: of every installed format, of bounded size and work, never raising."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from finch_core import Tensor, _, kernel
from finch_core.interface.display import drawn
from finch_core.show.samples import density, leading, window
from finch_core.show.tensors import tensor_html
from finch_levels import (
    Dense,
    Element,
    Pattern,
    RunList,
    Scalar,
    SparseBand,
    SparseBlockList,
    SparseByteMap,
    SparseCOO,
    SparseHash,
    SparseInterval,
    SparseList,
    SparsePinpoint,
    SparseRunList,
)

E = Element(0.0)
VECTORS = {
    f.name: f(E) for f in (Dense, RunList, SparseList, SparseRunList, SparseBlockList, SparseBand,
                           SparseByteMap, SparseHash, SparseCOO)
}  # fmt: skip
VOID = {"path", "rect"}


class Balance(HTMLParser):
    """Checks that elements are closed in the order in which they were opened."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.tags.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def picture(tensor: Any) -> str:
    """The picture, checked to be well formed and to take no colour but that of the text."""
    html = tensor_html(tensor)
    assert tensor._repr_html_() == html
    reader = Balance()
    reader.feed(html)
    assert reader.open == []
    assert "script" not in reader.tags
    assert set(re.findall(r'(?:fill|stroke)[:=]"?([^";]+)', html)) <= {"none", "currentColor"}
    return html


def data(*shape: int) -> np.ndarray[Any, Any]:
    array = np.zeros(shape)
    array.flat[:: array.size // 7 + 1] = np.arange(1, 9)[: len(array.flat[:: array.size // 7 + 1])]
    return array


@pytest.mark.parametrize("name", sorted(VECTORS))
@pytest.mark.parametrize("shape", [(1,), (9,), (1, 1), (5, 7), (40, 50), (2, 3, 4), (2, 2, 40, 3)])
def test_every_format_is_drawn(name: str, shape: tuple[int, ...]) -> None:
    format = VECTORS[name]
    for _k in shape[1:]:
        format = SparseCOO(format) if name == "SparseCOO" else Dense(format)
    html = picture(Tensor(format, data(*shape)))
    assert name in html
    assert "float64[" in html


@pytest.mark.parametrize(
    ("format", "array"),
    [
        (Dense(SparsePinpoint(E)), np.eye(4)),
        (Dense(SparseInterval(E)), np.tril(np.ones((4, 4)))),
        (Dense(SparseList(Pattern())), np.eye(4, dtype=bool)),
        (SparseList(Element(0j)), np.array([0, 1j])),
        (SparseList(Element((0.0, -1))), (5,)),
        (RunList(Element(np.nan)), np.array([np.nan, np.nan, 1.0])),
        (Dense(SparseList(E)), None),
        (SparseList(E), (0,)),
        (Scalar(2.5).format, None),
    ],
)
def test_unusual_tensors_are_drawn(format: Any, array: Any) -> None:
    assert "Tensor" in picture(Tensor(format, array))


def test_a_plugin_s_format_is_drawn_by_what_it_says_of_itself(example_site: Any) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import numpy as np; from finch_core import Tensor\n"
        "from finch_levels import Dense, Element\n"
        "from finch_bitmask import SparseBitmap\n"
        "print(Tensor(Dense(SparseBitmap(Element(0.0))), np.eye(9))._repr_html_())"
    )
    command = [sys.executable, "-c", code, str(example_site)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "SparseBitmap[9]" in done.stdout
    assert "9 x 9" in done.stdout


def boxes(html: str) -> int:
    return sum(d.count("M") for d in re.findall(r'<path d="(M[^"]*z)"', html))


def test_pieces_have_their_shapes() -> None:
    row = np.array([[0.0, 2, 2, 2, 0, 3, 1, 0]])
    assert boxes(picture(Tensor(Dense(SparseList(E)), row))) == 5
    assert boxes(picture(Tensor(Dense(SparseRunList(E)), row))) == 3
    assert boxes(picture(Tensor(Dense(SparseBlockList(E)), row))) == 2
    runs = picture(Tensor(Dense(RunList(E)), row))
    assert boxes(runs) == 3 + 3  # three runs, and in outline three of the fill


def test_rows_that_are_one_run_are_one_box() -> None:
    same = np.repeat([[0.0, 1, 1]], 4, axis=0)
    assert boxes(picture(Tensor(RunList(SparseList(E)), same))) == 2
    assert boxes(picture(Tensor(Dense(SparseList(E)), same))) == 8


def test_the_plot_shows_what_is_stored_not_what_differs_from_the_fill() -> None:
    A = Tensor.from_buffers(
        SparseList(E), (4,), {"ptr": np.array([0, 2]), "idx": np.array([1, 3]), "val": np.zeros(2)}
    )
    there, values = window(A, ())
    assert there.tolist() == [[False, True, False, True]]
    assert not values.any()


def test_a_slice_is_one_that_stores_something() -> None:
    array = np.zeros((9, 5, 4))
    array[7, 2, 1] = 1
    for format in (Dense(Dense(SparseList(E))), SparseList(SparseList(SparseList(E)))):
        A = Tensor(format, array)
        assert leading(A) == (7,)
        assert "[7, :, :]" in picture(A)


def test_densities_are_those_of_the_cells() -> None:
    array = np.zeros((64, 96))
    array[:2] = 1  # the first row of cells
    array[2, 0] = 1  # one of the six elements of a cell
    sample = density(Tensor(Dense(SparseList(E)), array), (), nonfill=False)
    assert not sample.partly
    assert (sample.density[0] == 1).all()
    assert sample.density[1, 0] == pytest.approx(1 / 6)
    assert sample.density[2:].max() == 0


@pytest.mark.parametrize("format", [Dense(SparseList(E)), SparseList(SparseList(E)), SparseCOO(
    SparseCOO(E)), Dense(SparseHash(E))])  # fmt: skip
def test_large_tensors_take_bounded_work_and_space(format: Any) -> None:
    rng, n = np.random.default_rng(0), 300_000
    places = rng.integers(0, n, (2, n))
    A = Tensor(format, sp.coo_array((np.ones(n), places), shape=(n, n)).tocsr())
    picture(A)  # lowers the kernel
    started = time.perf_counter()
    html = picture(A)
    assert time.perf_counter() - started < 3
    assert len(html) < 40_000
    assert "sampled" in html


@pytest.mark.parametrize(
    "format", [Dense(Dense(E)), RunList(RunList(E)), SparseRunList(RunList(E))]
)
def test_what_stores_everything_is_sampled_too(format: Any) -> None:
    A = Tensor(format, np.kron(np.eye(2), np.ones((2000, 2000))))
    html = picture(A)
    assert len(html) < 40_000
    assert "sampled" in html


def test_many_levels_are_left_out() -> None:
    format: Any = E
    for _k in range(20):
        format = Dense(format)
    assert "more levels" in picture(Tensor(format, (1,) * 20))


def test_text_is_escaped() -> None:
    assert "&lt;script&gt;" in str(drawn("stats_html", "<script>", {"<b>": 1}))


def test_a_kernel_s_statistics_are_a_table() -> None:
    @kernel
    def ones(y):  # type: ignore[no-untyped-def]
        for i in _:
            y[i] = 1

    ones(np.zeros(3))
    stats = ones.stats()
    assert stats["calls"] == 1
    html = str(stats._repr_html_())
    assert "calls" in html
    assert "seconds: " in html


def test_nothing_is_imported_before_it_is_drawn() -> None:
    code = "import numpy as np; from finch_core import Tensor; from finch_levels import Element;"
    code += "Tensor(Element(0.0)); import sys; print('finch_core.show.display' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_plan_is_a_graph() -> None:
    import finch_array as fa

    A, B = fa.random((100, 200), 0.1, rng=0), fa.random((200, 150), 0.1, rng=1)
    told = fa.explain(fa.lazy(A) @ (fa.lazy(B) @ np.ones(150)))
    assert "kernels, estimated" in told
    html = str(told._repr_html_())
    reader = Balance()
    reader.feed(html)
    assert reader.open == []
    names = [name for name, *_rest in told.nodes]
    lines = sum(read in names[:k] for k, node in enumerate(told.nodes) for read in set(node[3]))
    assert lines >= len(names) - 1
    assert reader.tags.count("path") == lines
    assert reader.tags.count("rect") == len(names)
    assert len(drawn("plan_html", told.nodes * 40) or "") < 40_000
