"""OpenCV, on one thread. Its erosion leaves the border alone."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

from bench.peers import Contenders

cv2.setNumThreads(1)


def erosion(image: Any, iterations: int) -> Contenders:
    box, out = np.ones((3, 3), np.uint8), np.empty_like(image)
    return {"opencv": lambda: cv2.erode(image, box, dst=out, iterations=iterations)}


def histogram(image: Any, mask: Any) -> Contenders:
    def run() -> Any:
        return cv2.calcHist([image], [0], mask, [16], [0, 256])

    return {"opencv": run}
