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


def dilation(image: Any, iterations: int) -> Contenders:
    box, out = np.ones((3, 3), np.uint8), np.empty_like(image)
    return {"opencv": lambda: cv2.dilate(image, box, dst=out, iterations=iterations)}


def box_sum(image: Any) -> Contenders:
    def run() -> Any:
        return cv2.boxFilter(
            image, cv2.CV_16U, (3, 3), normalize=False, borderType=cv2.BORDER_CONSTANT
        )

    return {"opencv": run}


def blend(first: Any, second: Any, alpha: float) -> Contenders:
    out = np.empty_like(first)
    return {"opencv": lambda: cv2.addWeighted(first, alpha, second, 1 - alpha, 0, dst=out)}


def histogram(image: Any, mask: Any) -> Contenders:
    def run() -> Any:
        return cv2.calcHist([image], [0], mask, [16], [0, 256])

    return {"opencv": run}
