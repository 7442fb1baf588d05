"""The wrapper of the page "How to write a wrapper", as it was for version 1."""

import attrs
from finch_core.views import Example
from finch_core.wrapping import WrapperTensor, mapped, seen

from finch_core.plugins import hookimpl


class Reflected(WrapperTensor):
    """``reflect(A, c, d)[i, j]`` is ``A[c - i, d - j]``."""

    name = "reflect"

    @staticmethod
    def match_access(access, scope):
        argument = seen(access, Reflected)
        if argument is None:
            return None
        indices = tuple(
            mapped(index, lambda i, last=last: last - i)
            for index, last in zip(access.indices, argument.params, strict=True)
        )
        return attrs.evolve(access, tensor=argument.inner, indices=indices)

    @staticmethod
    def examples(view):
        lasts = tuple(start + stop - 1 for start, stop in view.ranges)
        reflected = view.moved(
            lambda index: tuple(last - i for last, i in zip(lasts, index, strict=True)),
            sized=(False,) * view.ndim,
        )
        yield Example(lambda tensor: reflect(tensor, *lasts), reflected)


def reflect(tensor, *lasts):
    """``tensor`` read backwards: ``reflect(A, c)[i]`` is ``A[c - i]``."""
    return Reflected(tensor, (), tuple(map(int, lasts)))


@hookimpl
def finch_wrapper():
    return Reflected
