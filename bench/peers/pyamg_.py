"""PyAMG's relaxations."""

from __future__ import annotations

from typing import Any

import numpy as np
from pyamg.relaxation.relaxation import gauss_seidel
from scipy.sparse import csr_matrix

from bench.peers import Contenders


def sweep(A: Any, b: Any, start: Any) -> Contenders:
    matrix, x = csr_matrix(A), start.copy()
    return {"pyamg": lambda: (np.copyto(x, start), gauss_seidel(matrix, x, b), x)[2]}
