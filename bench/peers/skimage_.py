"""scikit-image."""

from __future__ import annotations

from typing import Any

import numpy as np
from skimage.morphology import erosion as grey_erosion
from skimage.morphology import isotropic_erosion  # noqa: F401  (an old version is refused)

from bench.peers import Contenders

BOX = np.ones((3, 3), np.uint8)


def erosion(image: Any, iterations: int) -> Contenders:
    def run() -> Any:
        eroded = image
        for _iteration in range(iterations):
            eroded = grey_erosion(eroded, BOX)
        return eroded

    return {"skimage": run}
