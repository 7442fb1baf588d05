"""
An image and its erosion, by runs
=================================

A black and white image is stored as the runs of its rows. The erosion combines runs: its time is
that of the number of runs, not of the number of pixels.
`How the kernel becomes C <../../explorer/erode.html>`__.
"""

import matplotlib.pyplot as plt
import numpy as np

from finch_core import Tensor, _, coalesce, kernel
from finch_levels import Dense, Element, RunList


@kernel
def erode(out, image):
    out[...] = 0
    for i, j in _:
        out[i, j] = (
            image[i, j]
            & coalesce(image[i, ~(j - 1)], np.uint8(1))
            & coalesce(image[i, ~(j + 1)], np.uint8(1))
            & coalesce(image[~(i - 1), j], np.uint8(1))
            & coalesce(image[~(i + 1), j], np.uint8(1))
        )
    return out


# %%
# An image of discs.

y, x = np.mgrid[:160, :240]
pixels = np.zeros((160, 240), np.uint8)
for k in range(9):
    pixels |= (x - 24 * k - 20) ** 2 + (y - 80 - 50 * np.sin(k)) ** 2 < 23**2
RUNS = Dense(RunList(Element(np.uint8(0))))
image = Tensor(RUNS, pixels)
image

# %%
# Six erosions, one after the other.

eroded = image
for _k in range(6):
    eroded = erode(Tensor(RUNS), eroded)
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2))
left.imshow(pixels, cmap="gray_r")
left.set_title(f"{image.nstored:,} runs")
right.imshow(eroded.to_numpy(), cmap="gray_r")
right.set_title(f"eroded: {eroded.nstored:,} runs")
for axis in (left, right):
    axis.set_axis_off()
plt.show()
