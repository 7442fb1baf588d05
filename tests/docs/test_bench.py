"""The benchmarks' own machinery, without peers: what is counted, checked, timed and written."""

from __future__ import annotations

import itertools
import os
import sys
from typing import Any

import numpy as np
import pytest
from examples_support import ROOT

sys.path.append(str(ROOT))

from bench import generators, lines, merge, paper, peers, races, report, spmv
from bench.__main__ import main
from bench.data import thresholded
from bench.graphs import in_order, least_members, levels
from bench.hand import signatures
from bench.harness import compare
from bench.hash import run as hashed
from bench.losses import losses
from bench.peers import Levels, load

ONES = np.ones(3)


def race(**more: Any) -> races.Race:
    ours = {"finch": lambda: ONES, "finch later": lambda: lambda: ONES}
    return races.Race("data", ours, {"peer": lambda: 1 + 0 * ONES}, **more)


def test_results_that_differ_are_refused() -> None:
    race().check()
    wrong = races.Race("data", {"finch": lambda: ONES}, {"peer": lambda: ONES + 1e-6})
    with pytest.raises(races.Disagreement, match="peer and finch differ"):
        wrong.check()
    shape = races.Race("data", {"finch": lambda: ONES}, {"peer": lambda: np.ones((3, 1))})
    with pytest.raises(races.Disagreement):
        shape.check()


def test_who_is_slow_takes_no_samples_of_the_others() -> None:
    work = np.ones(200_000)
    timing = compare({"fast": lambda: None, "slow": work.sum}, budget=0.02, at_least=2)
    assert timing["fast"].calls > timing["slow"].calls >= 2
    assert timing["fast"].seconds < timing["slow"].seconds


def test_loops_by_hand_find_what_kernels_find() -> None:
    rows = merge.run(0.001, shorter=1000)
    assert [row["entries"] for row in rows[:1] + rows[-1:]] == ["1,000 and 1,000", "33 and 1,000"]
    assert len(hashed(0.001, updates=1000)) == 4


def test_lines_are_counted_without_comments_and_docstrings() -> None:
    for by in lines.PROGRAMS.values():
        for path, names in by.values():
            assert lines.count(path, names) > 0
    text = '@kernel\ndef f(a):\n    """One\n    two."""\n\n    # three\n    return a\n'
    assert lines._of_python(text, "f") == 3
    assert lines._of_c("int f(int a)\n{\n    /* a */\n\n    return a;\n}\n", "f") == 4
    with pytest.raises(LookupError, match="there is no g"):
        lines._of_python(text, "g")


def test_a_peer_that_is_missing_is_named() -> None:
    found, missing = load(["scipy", "no such peer"])
    assert list(found) == ["scipy"]
    assert "KeyError" in missing["no such peer"]


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(SystemExit, match=r"need the module 'tqdm': pip install -e '\.\[bench\]'"):
        main(["spmv", "--quick", "--check", "--peers"])


def test_a_search_that_is_no_tree_is_told_from_one() -> None:
    assert levels(np.array([0, 0, 1, -1]), 0).tolist() == [0, 1, 2, -1]
    assert levels(np.array([0, 2, 1, -9999]), 0).tolist() == [0, -1, -1, -1]
    assert levels(Levels(np.array([0.0, 1.0])), 0).tolist() == [0, 1]
    assert least_members(np.array([7, 2, 7, 2])).tolist() == [0, 1, 0, 1]
    graph = generators.acyclic(20, 3)
    with pytest.raises(AssertionError, match="no topological order"):
        in_order(np.zeros(20, dtype=int), graph)


def test_all_formats_that_may_do_agree_with_scipy() -> None:
    band = generators.banded(40, 3)
    for matrix in (band, band * (1 + 2j), generators.reverse_permutation(30)):
        raced = spmv.race("small", matrix, load(["scipy"])[0])
        raced.check()
        assert raced.about
        assert len(raced.ours) >= 4


def test_declarations_are_read_from_the_source() -> None:
    heads = ("void f(int n, double *restrict y)", "const int *g(void *r)", "static int h(int a)")
    text = "".join(f"{head}\n{{\n}}\n" for head in heads)
    assert signatures(text) == "void f(int n, double *y);const int *g(void *r);"


def result() -> dict[str, Any]:
    asked = (races.Target("peer", 2.0),)
    rows = [race(targets=asked).run(0.0), race(group="collection", work="BFS").run(0.0)]
    assert rows[0]["asked"] == {"peer": 2.0}
    rows[0].update(us={"finch": 1.0, "taco": 4.0}, best="finch", ratios={"taco": 4.0})
    rows[0]["asked"] = {"taco": 5.0}
    rows[1].update(us={"finch": 2.0, "peer": 1.0}, best="finch", ratios={"peer": 0.5})
    about = {"processor": "P", "compiler": "C", "flags": "-O3", "python": "3", "packages": {}}
    machine = {"machine": about, "missing": {"taco": "not there"}, "quick": True}
    return {**machine, "races": {"spmv": rows}, "lines": [{"program": "SpMV", "ours": 6}]}


def test_the_page_says_what_was_measured_and_what_was_not() -> None:
    page = report.markdown(result(), {"spmv": ["spmv"]})
    assert "Not measured: taco (not there)." in page
    assert "![spmv](results/spmv.png)" in page
    assert "| BFS collection (1) | mostly finch" in page
    assert "| SpMV | 6 |" in page
    assert "(missed)" in page
    claims = paper.table(result()["races"])
    assert claims[0]["ours"] == pytest.approx(4.0)
    assert claims[0]["paper"] == 1.27


def test_a_collection_is_asked_for_what_each_of_it_is() -> None:
    group = race(targets=(races.Target("peer", 2.0),), group="collection", work="BFS").run(0.0)
    fast = {**group, "ratios": {"peer": 9.0}}
    for slow, verdict in ((3.0, "met"), (1.0, "missed")):
        rows = [fast, {**fast, "ratios": {"peer": slow}}, {**fast, "ratios": {}}]
        assert report.rows(rows)[0]["asked for"] == f"2 over peer ({verdict})"


def test_of_several_runs_the_last_counts_as_a_whole() -> None:
    """No times of different runs are compared."""
    first, second = result(), result()
    again = {**second["races"]["spmv"][0], "best": "finch other", "asked": {}}
    again["us"] = {"finch other": 1.5, "taco": 3.0}
    again["ratios"] = {"taco": 2.0}
    second["races"]["spmv"] = [again]
    rows = report.merged([first, second], ("graphs", "spmv"))["races"]
    assert list(rows) == ["spmv"]
    assert rows["spmv"] == [again, first["races"]["spmv"][1]]


def test_what_a_rule_names_is_compared_and_its_conversion_timed() -> None:
    slow, fast = np.ones(30_000), np.ones(10)
    ours = {"finch": lambda: slow.sum() and ONES, "finch other": lambda: fast.sum() and ONES}
    ours["finch"] = peers.converted(ours["finch"], slow.copy)
    ours["finch fresh"] = lambda: slow.copy().sum() and ONES
    theirs = {"kept": lambda: ONES, "anew": lambda: 1 * ONES}
    row = races.Race("data", ours, theirs, rule="finch", fresh={"anew": "finch fresh"}).run(0.01)
    assert (row["best"], row["hindsight"]) == ("finch", "finch other")
    assert list(row["converting"]) == ["finch"]
    us = row["us"]
    assert row["ratios"]["kept"] == us["kept"] / us["finch"]
    assert row["ratios"]["anew"] == us["anew"] / us["finch fresh"]
    shown = report.rows([row])[0]
    assert shown["by rule"] == "finch"
    assert shown["best in hindsight"].startswith("other 0.")
    assert shown["pays after"] == "never"
    assert "names is within a twentieth of it for 0 of 1 matrices" in report._chooser([row])[1]


def test_stencils_and_symmetric_matrices() -> None:
    for reach, points in ((1, 7), (3, 27)):
        matrix = generators.stencil(5, reach)
        assert np.diff(matrix.indptr).max() == points
        assert (matrix != matrix.T).nnz == 0
    matrix = generators.symmetric(50, 3)
    assert (matrix != matrix.T).nnz == 0


def test_the_page_says_how_good_the_chosen_formats_are() -> None:
    found = result()
    times = {"finch": 1.0, "finch SparseList": 2.0, "taco": 4.0}
    ruled = {"hindsight": "finch", "best": "finch SparseList", "converting": {}, "us": times}
    found["races"]["spmv"][0] |= ruled
    page = report.markdown(found, {})
    assert "for 0 of 1 matrices, and the best takes 0.50 of its time" in page
    assert page.index("## Where we lose") < page.index("## Beside the paper")


def test_losses_are_told_with_who_is_faster() -> None:
    told = [(row["what"], row["of"], row["ours is"]) for row in losses(result()["races"])]
    assert told == [("BFS collection", "peer", pytest.approx(0.5))]


def test_pictures_are_made_black_and_white() -> None:
    assert thresholded(np.array([[0, 127, 128, 255]], np.uint8)).tolist() == [[0, 0, 1, 1]]
    assert thresholded(np.array([[0, 200, 128, 255]], np.uint8)).tolist() == [[1, 0, 0, 0]]


def test_whole_programs_are_told_by_what_was_asked() -> None:
    """As parts of the times of peers; what misses is bold."""
    row = {
        "work": "solve", "data": "grid", "best": "finch", "us": {"finch": 2000.0},
        "asked": {"hand C": 0.5, "peer": 1.25},
        "ratios": {"hand C": 0.8, "peer": 0.5, "other": 4.0},
    }  # fmt: skip
    *_, line = report._programs([row])
    assert line == "| solve | grid | 2 | hand C 2.00, peer 0.80 | 1.25, **2.00** | other 0.25 |"


def test_what_a_rule_names_needs_no_conversion_to_be_told() -> None:
    """A collection that a rule named one of ours for, which is not converted."""
    fast, theirs = {"finch bytes": lambda: ONES}, {"peer": lambda: ONES}
    made = [races.Race(k, fast, theirs, group="some", rule="finch bytes") for k in "ab"]
    found = [each.run(0.001) for each in made]
    (row,) = [r for r in report.rows(found) if r["data"] == "some (2)"]
    assert row["pays after"] == ""


def test_a_clock_that_stands_still_times_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.accumulate(itertools.cycle([0.0, 0.0, 0.25]))
    monkeypatch.setattr("bench.harness.time.process_time", lambda: next(clock))
    assert compare({"nothing": lambda: None}, 1.0)["nothing"].seconds > 0
