"""Operands of random programs as Python text."""

from __future__ import annotations

import inspect
from typing import Any

import attrs
import numpy as np
from random_forms import FORMS


def helpers_of(operands: Any) -> str:
    """The functions that make what the operands are handed over as."""
    names = dict.fromkeys(o.form for o in operands if o.form in FORMS)
    names = dict.fromkeys(
        part for n in names for part in (n.removeprefix("over_"), n) if part in FORMS
    )
    makes = [FORMS[name].make for name in names]
    texts = [inspect.getsource(make) for make in makes if make.__module__ == "random_forms"]
    return "".join(f"{_plain(text)}\n\n" for text in texts)


def _plain(text: str) -> str:
    """Without names that only the tests have."""
    return text.replace("Array", "np.ndarray").replace("Any", "object")


def argument_text(operand: Any) -> str:
    """What is passed, as Python text."""
    if operand.format is None:
        return operand.data if operand.role == "mask" else _number(operand.data)
    data, form = operand.data, operand.form
    if data is None:
        text = f"Tensor({text_of(operand.format)})"
    else:
        shown = f"np.array({data.tolist()!r}, np.{data.dtype}).reshape({data.shape})"
        text = f"Tensor({text_of(operand.format)}, {shown})"
        if form in FORMS:
            text = FORMS[form].text.format(shown if FORMS[form].of_data else text)
        elif form != "tensor":
            text = form
    if type(operand.format).__name__.endswith("ScalarLeaf"):
        text = text_of(operand.format)
    for wrap in reversed(operand.wraps):
        text = wrap.text(text)
    return text


def _number(value: Any) -> str:
    return f"np.{value.dtype}({value.item()!r})" if isinstance(value, np.generic) else repr(value)


def text_of(format: Any) -> str:
    """A format as it is written."""
    name = type(format).__name__.removesuffix("Leaf")
    if not format.is_leaf:
        fields = [f for f in attrs.fields(type(format)) if isinstance(f.default, (bool, np.dtype))]
        given = {f.name: getattr(format, f.name) for f in fields}
        given = {f.name: given[f.name] for f in fields if given[f.name] != f.default}
        options = [f", {n}={f'np.{v}' if isinstance(v, np.dtype) else v}" for n, v in given.items()]
        return f"{name}({text_of(format.child)}{''.join(options)})"
    if not format.fields:
        return f"{name}()"
    fill = np.asarray(format.fill_value).item()
    if isinstance(fill, tuple):
        return f"{name}({fill!r})"
    dtype = "bool_" if format.dtype.kind == "b" else str(format.dtype)
    return f"{name}({fill!r}, np.{dtype})"
