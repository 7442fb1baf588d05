"""The suite that a plugin's pass over assembly must pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest

from finch_core.interface.plugins import hub
from finch_core.ir.assembly import Block
from finch_core.ir.assembly_rewrite import names_in
from finch_core.ir.assembly_text import block_text
from finch_core.ir.builder import Names
from finch_core.ir.verify import check
from finch_core.optimize import pipeline
from finch_core.testing.random_assembly import BUFFERS, SIZE, N, random_block
from finch_core.testing.run_block import kernel_of, run_block


class AssemblyPassSuite:
    """The tests that every pass over assembly must pass. A complete test module::

        class TestMyPass(AssemblyPassSuite):
            name = "my_pass"
            blocks = ((a_block_that_it_changes, {x: np.zeros(3)}),)

    ``blocks`` are pairs of a typed block and the values of its variables and buffers. Results are
    equal to the last bit, or almost equal if the pass ``reassociates``.
    """

    name: ClassVar[str]
    blocks: ClassVar[Sequence[tuple[Block, Mapping[Any, Any]]]]
    changes: ClassVar[bool] = True
    """Whether it changes its blocks; one that only looks at assembly does not."""

    def _run(self, block: Block) -> Block:
        found: Block = hub().assembly_passes[self.name].run(block, Names(names_in(block)))
        return found

    def _same(self, block: Block, values: Mapping[Any, Any]) -> None:
        """The pass keeps what ``block`` does, and gives legal assembly."""
        new = self._run(block)
        check(kernel_of(new, values))
        status, before = run_block(block, values)
        assert run_block(new, values)[0] == status
        for name, value in run_block(new, values)[1].items():
            if hub().assembly_passes[self.name].reassociates:
                np.testing.assert_allclose(value, before[name], err_msg=name)
            else:
                np.testing.assert_array_equal(value, before[name], err_msg=name)

    def test_it_follows_passes_that_are_there(self) -> None:
        assert self.name in [row.name for row in pipeline()], hub().report()

    def test_it_changes_its_blocks_and_keeps_their_meaning(self) -> None:
        for block, values in self.blocks:
            if self.changes:
                assert self._run(block) != block, f"the pass does not change\n{block_text(block)}"
            self._same(block, values)

    def test_it_is_done_after_one_run(self) -> None:
        for block, _ in self.blocks:
            once = self._run(block)
            assert self._run(once) == once

    @pytest.mark.parametrize("seed", range(60))
    def test_random_assembly_keeps_its_meaning(self, seed: int) -> None:
        for n in (0, 2):
            values: dict[Any, Any] = {
                N: n,
                **{b: np.arange(SIZE) * (k + 1) for k, b in enumerate(BUFFERS)},
            }
            self._same(random_block(seed), values)
