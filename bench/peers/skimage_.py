"""scikit-image."""

from __future__ import annotations

from typing import Any

import numpy as np
from skimage.morphology import dilation as grey_dilation
from skimage.morphology import erosion as grey_erosion

from bench.peers import Contenders

BOX = np.ones((3, 3), np.uint8)


def erosion(image: Any, iterations: int) -> Contenders:
    return _repeated(grey_erosion, image, iterations)


def dilation(image: Any, iterations: int) -> Contenders:
    return _repeated(grey_dilation, image, iterations)


def _repeated(step: Any, image: Any, iterations: int) -> Contenders:
    def run() -> Any:
        found = image
        for _iteration in range(iterations):
            found = step(found, BOX)
        return found

    return {"skimage": run}
