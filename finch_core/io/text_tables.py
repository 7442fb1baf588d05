"""Reader of text files of numbers, one row in each line, with blank lines and comments.

Files are read in blocks. Memory grows with what has been read, not with what a header announces.
Every error names the line.
"""

from __future__ import annotations

import gzip
import itertools
import os
import re
import stat
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np

from finch_core.errors import FormatError
from finch_core.errors import count as count_of
from finch_core.io.number_text import MARGIN, Array, NotANumber, Words
from finch_core.io.progress import advancing
from finch_core.records import frozen
from finch_core.runtime.backends import compiles

if TYPE_CHECKING:
    from finch_core.io.row_reader import RowReader

BLOCK = 1 << 18
"""Bytes that are parsed at once: the temporary arrays fit in a cache."""

LARGER = 4
"""By how much blocks are larger once a compiled kernel parses them: it has fewer temporary arrays,
and each block is handed from thread to thread."""

LONGEST_LINE = 1 << 20
"""The most bytes of a line; a file without line ends is refused before it is all in memory."""

SMALL = 1 << 23
"""Bytes of a file up to which it is parsed by Python, beyond which by a compiled kernel: to compile
one takes as long as to parse some megabytes without."""

SHORTEST_NUMBER = 2
"""The fewest bytes of a number and the blank after it."""

THREADS = 2
"""Blocks that are parsed in parallel."""


@frozen(eq=False)
class Block:
    """Whole lines of a file, with comments replaced by blanks; ``first`` is the number of the
    first one, ``lines`` how many they are."""

    first: int
    lines: int
    text: bytes


class TextFile:
    """A text file, gzipped if its name ends in ``.gz``, that counts its lines for errors."""

    def __init__(self, path: Path, comments: bytes) -> None:
        self.name = path.name
        self.comments = comments
        self.line = 0
        "How many lines were read."
        self._taken = 0
        "How many bytes were read in blocks."
        # closed when the block ends that uses this object
        self._raw = path.open("rb")
        self._packed = path.suffix == ".gz"
        opened = gzip.GzipFile(fileobj=self._raw) if self._packed else self._raw
        self._file = cast(BinaryIO, opened)
        found = os.fstat(self._raw.fileno())
        self._size = found.st_size if stat.S_ISREG(found.st_mode) else 0
        self._comment = re.compile(rb"^[ \t]*[" + re.escape(comments) + rb"][^\n]*", re.MULTILINE)

    def __enter__(self) -> TextFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._raw.close()

    def error(self, message: str, line: int | None = None, hint: str = "") -> FormatError:
        """A ``FormatError`` about a line; default: the last one that was read."""
        number = self.line if line is None else line
        return FormatError(f"{self.name}, line {number}: {message}", hint=hint)

    def most_numbers(self) -> int:
        """No less than the numbers in the file, by its size; 0 where that is not known."""
        return 0 if self._packed or not self._size else self._size // SHORTEST_NUMBER + 1

    def next_line(self) -> bytes:
        """The next line; empty at the end of the file."""
        line = self._take(self._file.readline, LONGEST_LINE)
        self.line += 1
        if len(line) == LONGEST_LINE:
            raise self.error(f"the line is longer than {LONGEST_LINE} bytes")
        return line

    def next_words(self) -> list[bytes]:
        """The words of the next line that is neither blank nor a comment; empty at the end."""
        while line := self.next_line():
            words = line.split()
            if words and words[0][:1] not in _each(self.comments):
                return words
        return []

    def blocks(self) -> Iterator[Block]:
        """The rest of the file in blocks."""
        before = 0
        with advancing(self.name, self._size) as advance:
            for block in self._blocks():
                yield block
                place = self._raw.tell() if self._size else before + len(block.text)
                advance(place - before)
                before = place

    def is_large(self) -> bool:
        """Whether the file is known to have more than ``SMALL`` bytes."""
        return max(self._size, self._taken) > SMALL

    def _blocks(self) -> Iterator[Block]:
        while text := self._take(self._file.read, BLOCK * (LARGER if self.is_large() else 1)):
            self._taken += len(text)
            before = self.line
            self.line += line_ends(text)
            if not text.endswith(b"\n"):
                text += self.next_line()
            if not text.isspace():
                yield Block(before + 1, self.line - before, self._without_comments(text))

    def _without_comments(self, block: bytes) -> bytes:
        if not any(mark in block for mark in _each(self.comments)):
            return block
        return self._comment.sub(lambda found: b" " * len(found[0]), block)

    def _take(self, function: Callable[[int], bytes], size: int) -> bytes:
        try:
            return function(size)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise FormatError(f"{self.name}: not a whole gzip file: {error}") from error


def line_ends(block: bytes) -> int:
    """The number of line ends in a block."""
    return int(np.count_nonzero(np.frombuffer(block, np.uint8) == 10))


def _each(marks: bytes) -> list[bytes]:
    return [marks[k : k + 1] for k in range(len(marks))]


@frozen(eq=False)
class Column:
    """A column of numbers of ``dtype``, called ``what`` in errors; from ``least`` to ``most`` if
    these are given. ``less`` is what the file has more than the result."""

    what: str
    dtype: np.dtype[Any]
    least: int | None = None
    most: int | None = None
    less: int = 0


Columns = tuple[Column, ...]


def read_table(
    file: TextFile, columns: Columns, count: int | None = None, what: str = "entries"
) -> list[Array]:
    """The columns of the remaining lines, one array for each column.

    Raises ``FormatError`` for a line that does not fit ``columns``, and if there are more or fewer
    than ``count`` lines, where that is given.
    """
    room = file.most_numbers() // len(columns)
    parts = [Growing(column.dtype, count, room) for column in columns]
    for block, found in _parsed(file, columns, parts):
        if count is not None and parts[0].length + len(found[0]) > count:
            row = count - parts[0].length
            line = block.first + _lines_before(block.text, Words.of(block.text), row * len(columns))
            raise file.error(f"more than {count} {what}", line)
        for part, values in zip(parts, found, strict=True):
            part.extend(values)
    if count is not None and parts[0].length < count:
        raise file.error(f"{count} {what} expected, only {parts[0].length} found", file.line + 1)
    return [part.taken() for part in parts]


def _parsed(
    file: TextFile, columns: Columns, parts: list[Growing]
) -> Iterator[tuple[Block, list[Array]]]:
    """The blocks of a file and their columns, in order; later blocks are parsed in parallel, and
    those of a large file by a compiled kernel. The columns are valid until the next block, and lie
    in ``parts`` already where there is room for a row in each line."""
    blocks, rows, most = file.blocks(), 0, THREADS
    reader = _reader(columns) if file.is_large() else None
    for block in itertools.islice(blocks, 1):  # many files have one block only
        yield block, _read(file, columns, block, reader, parts, 0)
        rows = block.lines
    ahead: deque[tuple[Block, Future[list[Array]]]] = deque()
    with ThreadPoolExecutor(THREADS) as pool:
        try:
            while True:
                for block in itertools.islice(blocks, 1):
                    if reader is None and file.is_large():
                        reader = _reader(columns)
                    work = pool.submit(_read, file, columns, block, reader, parts, rows)
                    ahead.append((block, work))
                    rows += block.lines
                    break
                else:
                    most = 0  # the file ends: wait for all
                if len(ahead) > most:
                    block, parsed = ahead.popleft()
                    yield block, parsed.result()
                elif not most:
                    return
        finally:
            pool.shutdown(cancel_futures=True)


def _reader(columns: Columns) -> RowReader | None:
    """A reader of blocks that is compiled; None where nothing is."""
    from finch_core.io.row_reader import RowReader

    order = sum(column.least is not None for column in columns)
    return RowReader(tuple(column.dtype for column in columns), order) if compiles() else None


def _read(
    file: TextFile,
    columns: Columns,
    block: Block,
    reader: RowReader | None,
    parts: list[Growing],
    rows: int,
) -> list[Array]:
    """The columns of a block, which begins with row ``rows`` if each line before has one. Raises
    ``FormatError`` for the first line at fault."""
    if reader is not None:
        with reader.columns(block.text, block.lines) as found:
            if found is not None and all(map(_is_in_range, columns, found)):
                return _placed(columns, found, parts, rows)
    return _placed(columns, _parse(file, columns, block), parts, rows)


def _placed(columns: Columns, found: list[Array], parts: list[Growing], rows: int) -> list[Array]:
    return [
        part.placed(values, rows, column.less)
        for part, values, column in zip(parts, found, columns, strict=True)
    ]


def _parse(file: TextFile, columns: Columns, block: Block) -> list[Array]:
    """The columns of a block. Raises ``FormatError`` for the first line at fault."""
    first, text = block.first, block.text
    words, step = Words.of(text), len(columns)
    _check_lines(file, first, words, step)
    result = []
    for k, column in enumerate(columns):
        mine = words.column(k, step)
        try:
            values = mine.numbers(column.dtype)
        except NotANumber as error:
            line = first + _lines_before(text, words, error.position * step)
            raise file.error(f"{shown(error.word)} is no {column.what}", line) from None
        if not _is_in_range(column, values):
            row, why = _out_of_range(column, values)
            line = first + _lines_before(text, words, row * step)
            raise file.error(f"the {column.what} {values[row]} is {why}", line)
        result.append(values)
    return result


def shown(word: bytes) -> str:
    """A word for a message: quoted, with non-ASCII bytes escaped, and shortened."""
    return repr(word if len(word) < 40 else word[:36] + b"...")[1:]


def _is_in_range(column: Column, values: Array) -> bool:
    least, most = column.least, column.most
    if least is None or not len(values):
        return True
    return bool(values.min() >= least and (most is None or values.max() <= most))


def _out_of_range(column: Column, values: Array) -> tuple[int, str]:
    """The first row whose value is not in a column's range, and why."""
    least, most = column.least, column.most
    outside = values < least if most is None else (values < least) | (values > most)
    why = f"less than {least}" if most is None else f"not from {least} to {most}"
    return int(np.flatnonzero(outside)[0]), why


def _lines_before(text: bytes, words: Words, word: int) -> int:
    """The number of lines that end before a word of a block."""
    return text.count(b"\n", 0, int(words.starts[word]) - MARGIN)


def _check_lines(file: TextFile, first: int, words: Words, step: int) -> None:
    """Raise ``FormatError`` for a line that is not blank and does not have ``step`` words."""
    ends = words.lines
    rows, odd = divmod(len(words.starts), step)
    last = words.ends[step - 1 :: step]
    if not odd and len(ends) == rows:
        after = words.starts[step::step]
        if (ends >= last).all() and (ends[:-1] < after).all():
            return
    # the words of each line; the last line may lack a line end
    bounds = np.searchsorted(words.starts, np.append(ends, len(words.data)))
    counts = np.diff(bounds, prepend=0)
    wrong = np.flatnonzero((counts != 0) & (counts != step))
    if wrong.size:
        k = int(wrong[0])
        raise file.error(f"{count_of(step, 'number')} expected, {counts[k]} found", first + k)


class Growing:
    """An array that is appended to, of at most ``most`` elements. It has room for ``room`` of them,
    if that is known (memory that is not written to takes none), else it grows by a quarter; it is
    trimmed at the end."""

    def __init__(self, dtype: np.dtype[Any], most: int | None, room: int) -> None:
        self.length = 0
        self._most = most
        self._array = np.empty(room if most is None else min(room, most), dtype)
        self._stays = bool(len(self._array))
        "Whether there are views of the array, so that its memory has to stay where it is."

    def placed(self, values: Array, start: int, less: int) -> Array:
        """A copy of ``values - less``, which is in the array from element ``start`` on if there is
        room. Threads may call it, each for elements of its own behind the present length."""
        array, stop = self._array, start + len(values)
        has_room = self._stays and stop <= len(array)
        place = array[start:stop] if has_room else np.empty_like(values)
        return np.subtract(values, less, out=place) if less else _copied(values, place)

    def extend(self, values: Array) -> None:
        """Append values, which may lie in the array already, at their place or beyond it."""
        stop = self.length + len(values)
        if stop > len(self._array):
            room = max(len(self._array) + len(self._array) // 4, stop)
            self._resize(room if self._most is None else min(room, self._most))
        place = self._array[self.length : stop]
        if place.ctypes.data != values.ctypes.data:
            _copied(values, place)
        self.length = stop

    def taken(self) -> Array:
        """The array; no view of it is used again."""
        self._stays = False
        self._resize(self.length)
        return self._array

    def _resize(self, room: int) -> None:
        if self._stays:
            self._array = np.append(
                self._array, np.empty(room - len(self._array), self._array.dtype)
            )
        else:
            self._array.resize(room, refcheck=False)


def _copied(values: Array, place: Array) -> Array:
    place[...] = values
    return place
