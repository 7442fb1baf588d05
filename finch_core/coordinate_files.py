"""Text files of coordinates: FROSTT's ``.tns``, and Matrix Market's tensors and vectors.

Every error names the line. A whole file is parsed at once; only where that fails are its lines
looked at one by one, for the one at fault.
"""

from __future__ import annotations

import io
import re
from typing import Any

import attrs
import numpy as np

from finch_core.errors import FormatError
from finch_core.files import Array, Content, Coordinates
from finch_core.records import frozen

FIELDS = {
    b"real": np.dtype(np.float64),
    b"double": np.dtype(np.float64),
    b"integer": np.dtype(np.int64),
    b"complex": np.dtype(np.complex128),
    b"pattern": np.dtype(np.float64),
}
"""dtypes of Matrix Market's fields; a pattern is read as ones."""


@frozen(eq=False)
class Lines:
    """The lines of a file that are not blank or comments, with their 1-based numbers."""

    name: str
    text: tuple[bytes, ...]
    numbers: tuple[int, ...]
    length: int

    @classmethod
    def of(cls, name: str, data: bytes, comments: tuple[bytes, ...]) -> Lines:
        lines = [line.strip() for line in data.splitlines()]
        kept = [k for k, t in enumerate(lines) if t and not t.startswith(comments)]
        return cls(name, tuple(lines[k] for k in kept), tuple(k + 1 for k in kept), len(lines))

    def rest(self, start: int) -> Lines:
        return attrs.evolve(self, text=self.text[start:], numbers=self.numbers[start:])

    def error(self, row: int, message: str) -> FormatError:
        """An error in the ``row``-th line, or past the end of the file."""
        number = self.numbers[row] if row < len(self.numbers) else self.length + 1
        return FormatError(f"{self.name}, line {number}: {message}")


def frostt(name: str, data: bytes) -> Coordinates:
    """FROSTT: lines of indices and a value.

    Indices count from 1; those of a dimension where a 0 occurs count from 0. The shape is the
    smallest that fits. Raises ``FormatError``.
    """
    lines = Lines.of(name, data, (b"#", b"%"))
    if not lines.text:
        raise lines.error(0, "there is no entry, so the number of dimensions is not known")
    order = len(lines.text[0].split()) - 1
    if order < 1:
        raise lines.error(0, "indices and a value are expected")
    indices, values = _table(lines, order, np.dtype(np.float64), 1)
    for row in np.nonzero((indices < 0).any(axis=1))[0][:1]:
        raise lines.error(int(row), f"the index {indices[row].min()} is negative")
    indices -= indices.min(axis=0) > 0
    shape = tuple(int(n) + 1 for n in indices.max(axis=0))
    return Coordinates(shape, tuple(np.ascontiguousarray(indices.T)), values)


def market(name: str, data: bytes) -> Content:
    """A Matrix Market file whose object is a tensor or a vector. Raises ``FormatError``."""
    lines = Lines.of(name, data, (b"%",))
    layout, field = _banner(name, data.splitlines()[0])
    sizes = _sizes(lines)
    if layout == b"array":
        return _market_array(lines.rest(1), sizes, FIELDS[field])
    if len(sizes) < 2:
        raise lines.error(0, "the size of each dimension and the number of entries are expected")
    return _market_coordinates(lines.rest(1), sizes[:-1], sizes[-1], field)


def _banner(name: str, line: bytes) -> tuple[bytes, bytes]:
    words = line.lower().split()
    if len(words) != 5 and not (len(words) == 4 and words[1] == b"vector"):
        raise FormatError(f"{name}, line 1: the header has {len(words)} words, not 5")
    if words[2] not in (b"coordinate", b"array"):
        raise FormatError(f"{name}, line 1: the layout {words[2].decode()!r} is not known")
    if words[3] not in FIELDS or (words[2], words[3]) == (b"array", b"pattern"):
        raise FormatError(f"{name}, line 1: the field {words[3].decode()!r} is not known")
    if words[4:] not in ([], [b"general"]):
        raise FormatError(f"{name}, line 1: only matrices have the symmetry {words[4].decode()!r}")
    return words[2], words[3]


def _sizes(lines: Lines) -> tuple[int, ...]:
    if not lines.text:
        raise lines.error(0, "the sizes are missing")
    try:
        sizes = tuple(int(word) for word in lines.text[0].split())
    except ValueError:
        raise lines.error(0, "a size is no integer") from None
    if any(not 0 <= size <= np.iinfo(np.intp).max for size in sizes):
        raise lines.error(0, "a size is out of range")
    return sizes


def _market_array(lines: Lines, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """The values, the first index changing fastest."""
    total = int(np.prod(shape, dtype=object))
    _check_count(lines, total, "values")
    _, values = _table(lines, 0, dtype, 2 if dtype.kind == "c" else 1)
    return np.ascontiguousarray(values.reshape(shape, order="F"))


def _market_coordinates(
    lines: Lines, shape: tuple[int, ...], count: int, field: bytes
) -> Coordinates:
    _check_count(lines, count, "entries")
    columns = {b"pattern": 0, b"complex": 2}.get(field, 1)
    indices, values = _table(lines, len(shape), FIELDS[field], columns)
    outside = (indices < 1) | (indices > np.array(shape, np.intp))
    for row in np.nonzero(outside.any(axis=1))[0][:1]:
        raise lines.error(int(row), "an index is out of range")
    return Coordinates(shape, tuple(np.ascontiguousarray(indices.T - 1)), values)


def _check_count(lines: Lines, count: int, what: str) -> None:
    if len(lines.text) > count:
        raise lines.error(count, f"more than {count} {what}")
    if len(lines.text) < count:
        raise lines.error(len(lines.text), f"{count} {what} expected, only {len(lines.text)} found")


def _table(
    lines: Lines, order: int, dtype: np.dtype[Any], columns: int
) -> tuple[np.ndarray[Any, np.dtype[np.intp]], Array]:
    """The indices (a row per line) and values of lines with ``order`` indices each."""
    part = np.dtype(np.float64) if dtype.kind == "c" else dtype
    row = np.dtype([("indices", np.intp, (order,)), ("values", part, (columns,))])
    try:
        table = np.loadtxt(_decoded(lines), dtype=row, comments=None, ndmin=1)
    except (ValueError, OverflowError) as error:
        raise _fault(lines, order, part, columns) or error from None
    values = table["values"]
    if dtype.kind == "c":
        return table["indices"], np.ascontiguousarray(values).view(dtype)[:, 0]
    return table["indices"], np.ascontiguousarray(values[:, 0]) if columns else np.ones(len(table))


def _decoded(lines: Lines) -> list[str]:
    return [line.decode("latin-1") for line in lines.text]


def _fault(lines: Lines, order: int, part: np.dtype[Any], columns: int) -> FormatError | None:
    for k, line in enumerate(lines.text):
        words = line.split()
        if len(words) != order + columns:
            return lines.error(k, f"{order + columns} numbers expected, {len(words)} found")
        for position, word in enumerate(words):
            kind: Any = np.intp if position < order else part.type
            if not _reads(word, kind):
                what = "index" if position < order else "value"
                return lines.error(k, f"{word.decode('latin-1')!r} is no {what}")
    return None


def _reads(word: bytes, kind: Any) -> bool:
    number = int if np.issubdtype(kind, np.integer) else float
    try:
        return bool(kind(number(word)) == kind(number(word))) or word.lower().endswith(b"nan")
    except (ValueError, OverflowError):
        return False


def check_promise(name: str, data: bytes) -> None:
    """Refuse a Matrix Market matrix whose sizes promise far more than the file can hold, before
    memory is taken for it. Raises ``FormatError``; sizes it cannot read are left to the parser."""
    sizes = _sizes_line(data)
    if sizes is None or not all(word.isdigit() for word in sizes[1].split()):
        return
    counts = [int(word) for word in sizes[1].split()]
    lines = data.count(b"\n") + 1
    # an array with a symmetry lists about half of its values
    promised = counts[2] if len(counts) == 3 else int(np.prod(counts, dtype=object)) // 4
    if promised > lines + 1:
        raise FormatError(
            f"{name}, line {sizes[0]}: {sizes[1].decode()!r} promises more entries than the file's "
            f"{lines} lines can hold"
        )


def _sizes_line(data: bytes) -> tuple[int, bytes] | None:
    """The number and text of the first line that is no comment."""
    for number, line in enumerate(io.BytesIO(data), 1):
        text = line.strip()
        if text and not text.startswith(b"%"):
            return number, text
    return None


def blame(data: bytes, message: str) -> str:
    """``line N: ...`` for an error of SciPy's reader, which leaves the line out of some."""
    found = re.match(r"Line (\d+): (.*)", message, re.DOTALL)
    if found:
        return f"line {found[1]}: {_sentence(found[2])}"
    if "Truncated" in message:
        return f"line {len(data.splitlines()) + 1}: {_sentence(message)}"
    # what else it says without a line concerns the sizes
    sizes = _sizes_line(data)
    return f"line {sizes[0] if sizes else 1}: {_sentence(message)}"


def _sentence(message: str) -> str:
    message = message.strip().rstrip(".:")
    return message[:1].lower() + message[1:]


# -- writing --------------------------------------------------------------------------------


def frostt_text(content: Coordinates) -> bytes:
    """The lines of a ``.tns`` file. Trailing empty parts of a dimension are not recorded there."""
    return "".join(_rows(content)).encode()


def market_text(content: Coordinates) -> bytes:
    """A Matrix Market tensor in coordinates."""
    sizes = " ".join(map(str, (*content.shape, len(content.values))))
    header = f"%%MatrixMarket tensor coordinate {_field(content.values)} general\n{sizes}\n"
    return (header + "".join(_rows(content))).encode()


def market_array_text(array: Array) -> bytes:
    """A Matrix Market tensor with all its values, the first index changing fastest."""
    sizes = " ".join(map(str, array.shape))
    header = f"%%MatrixMarket tensor array {_field(array)} general\n{sizes}\n"
    return (header + "".join(f"{_number(v)}\n" for v in array.ravel(order="F").tolist())).encode()


def _rows(content: Coordinates) -> list[str]:
    columns = [(index + 1).tolist() for index in content.coords]
    values = map(_number, content.values.tolist())
    return [" ".join(map(str, row)) + "\n" for row in zip(*columns, values, strict=True)]


def _field(values: Array) -> str:
    return {"f": "real", "c": "complex"}.get(values.dtype.kind, "integer")


def _number(value: Any) -> str:
    if isinstance(value, complex):
        return f"{value.real!r} {value.imag!r}"
    return repr(int(value) if isinstance(value, bool) else value)
