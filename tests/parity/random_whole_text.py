"""The text of random whole programs (``random_whole_programs.py``)."""

from __future__ import annotations

import random
import re
import textwrap


class Writer:
    """Writes the text of one program. ``places`` are the expressions that are valid indices, and
    ``names`` the numbers that may be read, in the blocks that are open."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)
        self.places: list[str] = []
        self.names: list[str] = []
        self.kept: set[str] = set()
        """The names that loops depend on, which are not assigned."""
        self.arrays = ["x", "y"]
        self.loops = 0
        self.made = 0

    def chance(self, part: float) -> bool:
        return self.random.random() < part

    def fresh(self, letter: str) -> str:
        self.made += 1
        return f"{letter}{self.made}"

    # -- expressions ------------------------------------------------------------------------------

    def index(self) -> str:
        place = self.random.choice(self.places)
        if self.chance(0.15):
            return f"p[{place}]"
        if self.chance(0.1):
            return f"({place} + {self.random.randint(1, 3)}) % n"
        return place

    def leaf(self) -> str:
        if self.places and self.chance(0.6):
            if self.chance(0.4):
                return f"{self.random.choice('AS')}[{self.index()}, {self.index()}]"
            return f"{self.random.choice(self.arrays)}[{self.index()}]"
        if self.names and self.chance(0.7):
            return self.random.choice(self.names)
        return str(self.random.randint(-3, 3))

    def value(self, depth: int = 2) -> str:
        if depth == 0 or self.chance(0.4):
            return self.leaf()
        a, b = self.value(depth - 1), self.value(depth - 1)
        form = self.random.choice(
            [
                "({} + {})",
                "({} - {})",
                "{} * {}",
                "min({}, {})",
                "max({}, {})",
                "({} if {} > 0 else 1)",
            ]
        )
        return form.format(a, b)

    def small(self) -> str:
        return f"max(-9, min(9, {self.value()}))"

    def condition(self) -> str:
        compared = f"{self.leaf()} {self.random.choice(['<', '<=', '==', '!=', '>'])} {self.leaf()}"
        if self.places and self.chance(0.3):
            compared = f"{self.random.choice('AS')}[{self.index()}, {self.index()}] != 0"
        if len(self.places) > 1 and self.chance(0.3):
            compared = f"{self.random.choice(self.places)} < {self.random.choice(self.places)}"
        return f"{compared} and {self.leaf()} > 0" if self.chance(0.15) else compared

    # -- statements -------------------------------------------------------------------------------

    def block(self, depth: int) -> list[str]:
        """Some statements; what is named in them is not known after them."""
        kept = self.places[:], self.names[:], self.arrays[:]
        lines = [line for _k in range(self.random.randint(1, 3)) for line in self.statement(depth)]
        self.places, self.names, self.arrays = kept
        return lines

    def statement(self, depth: int) -> list[str]:
        kinds = ["name", "again", "write", "write", "if", "helper"]
        kinds += ["for", "for", "for", "while", "inside"] if depth else []
        kinds += ["leave"] if self.loops else []
        kinds += ["stored", "stored"] if self.places else []
        kinds += ["workspace"] if self.chance(0.3) else []
        kinds += ["swap"] if self.chance(0.2) else []
        kinds += ["pair"] if self.places or len(self.names) > 1 else []
        return getattr(self, f"_{self.random.choice(kinds)}")(depth)

    def _name(self, _depth: int) -> list[str]:
        value, name = self.small(), self.fresh("t")
        self.names.append(name)
        return [f"{name} = {value}"]

    def _again(self, depth: int) -> list[str]:
        free = [name for name in self.names if name not in self.kept]
        if not free:
            return self._name(depth)
        name = self.random.choice(free)
        op = self.random.choice(
            ["{0} = {1}", "{0} = max(-9, min(9, {0} + {1}))", "{0} = min({0}, {1})", "{0} += {1}"]
        )
        return [op.format(name, self.small())]

    def _write(self, depth: int) -> list[str]:
        if not self.places:
            return self._name(depth)
        target = f"{self.random.choice(self.arrays)}[{self.index()}]"
        op = self.random.choice(["{0} = {1}", "{0} = {1}", "{0} += {1}", "{0} = min({0}, {1})"])
        return [op.format(target, self.small())]

    def _if(self, depth: int) -> list[str]:
        lines = [f"if {self.condition()}:", *_indented(self.block(max(0, depth - 1)))]
        if self.chance(0.4):
            lines += ["else:", *_indented(self.block(max(0, depth - 1)))]
        return lines

    def _range(self) -> str:
        places = self.places
        forms = ["range(n)", "range(n)", "range(1, n)"]
        if places:
            place = self.random.choice(places)
            forms += [f"range({place})", f"range({place} + 1, n)", f"range({place}, n)"]
        form = self.random.choice(forms)
        if self.chance(0.2):
            return f"reversed({form})"
        if self.chance(0.15):
            start, stop = "n - 1", "-1"
            return f"range({start}, {stop}, -{self.random.randint(1, 2)})"
        return f"range(0, n, {self.random.randint(2, 3)})" if self.chance(0.1) else form

    def _for(self, depth: int) -> list[str]:
        head, index = self._range(), self.fresh("i")
        self.places.append(index)
        self.loops += 1
        lines = [f"for {index} in {head}:", *_indented(self.block(depth - 1))]
        self.loops -= 1
        self.places.remove(index)
        return lines

    def _inside(self, depth: int) -> list[str]:
        """A range that leaves the arrays, and a condition that does not."""
        index = self.fresh("i")
        first, beyond = self.random.randint(0, 2), self.random.choice(["2 * n", "n + 1"])
        head = f"for {index} in range(-{first}, {beyond}):"
        test = self.random.choice(["0 <= {0} and {0} < n", "{0} >= 0 and not {0} > n - 1"])
        self.places.append(index)
        self.loops += 1
        body = _indented(self.block(depth - 1))
        self.loops -= 1
        self.places.remove(index)
        return [head, f"    if {test.format(index)}:", *_indented(body)]

    def _while(self, depth: int) -> list[str]:
        count = self.fresh("k")
        test = f"{count} < {self.random.randint(1, 4)}"
        if self.chance(0.4):
            test += f" and {self.condition()}"
        self.names.append(count)
        self.kept.add(count)
        self.loops += 1
        lines = [
            f"{count} = 0",
            f"while {test}:",
            f"    {count} += 1",
            *_indented(self.block(depth - 1)),
        ]
        self.loops -= 1
        return lines

    def _leave(self, _depth: int) -> list[str]:
        return [f"if {self.condition()}:", "    " + self.random.choice(["break", "continue"])]

    def _stored(self, _depth: int) -> list[str]:
        access = f"S[{self.random.choice(self.places)}, {self.random.choice(self.places)}]"
        op = self.random.choice(["{0} = {1}", "{0} += {1}", "{0} = max(-9, min(9, {0} - {1}))"])
        return [f"if stored({access}):", "    " + op.format(access, self.small())]

    def _helper(self, _depth: int) -> list[str]:
        a, b = self.random.sample(self.arrays, 2)
        call = f"helper({a}, {b}, n)"
        if self.chance(0.4):
            return [call]
        name = self.fresh("t")
        if self.chance(0.3):
            lines = [f"{name} = {call}"]
        elif self.chance(0.5):
            value = f"max(-9, min(9, sum_of({a}) - {self.leaf()} * sum_of(b=3, a={b})))"
            lines = [f"{name} = {value}"]
        else:
            lines = [f"{name} = {self.leaf()}", f"if sum_of({a}) > {self.leaf()}:"]
            lines += ["    " + line for line in self._again(0)]
        self.names.append(name)
        return lines

    def _workspace(self, _depth: int) -> list[str]:
        name = self.fresh("w")
        made = [
            "Tensor(VECTOR, (n,))", "np.zeros(n)", "np.zeros(x.shape, y.dtype)", "np.zeros_like(x)",
            f"np.full(n, {self.small()}, dtype=x.dtype)", f"np.full_like(y, {self.small()})",
            f"{self.random.choice(self.arrays)}.copy()",
        ]  # fmt: skip
        self.arrays.append(name)
        return [f"{name} = {self.random.choice(made)}"]

    def _pair(self, _depth: int) -> list[str]:
        """Two targets that take their values at once; names or elements."""
        free = [name for name in self.names if name not in self.kept]
        if len(free) > 1 and (not self.places or self.chance(0.5)):
            first, second = self.random.sample(free, 2)
        elif self.places:
            first, second = (f"{self.random.choice(self.arrays)}[{self.index()}]" for _k in "ab")
        else:
            return self._name(0)
        return [f"{first}, {second} = {self.random.choice([second, self.small()])}, {first}"]

    def _swap(self, _depth: int) -> list[str]:
        return [self.random.choice(["swap(x, y)", "x, y = y, x"])]

    def program(self) -> str:
        """The text of the kernel ``program`` and of the kernels that it calls: ``helper``, which
        writes to its arguments, and ``sum_of``, which does not."""
        helper = Writer(f"{self.random.random()} helper")
        body = [line for _k in range(2) for line in helper._inner()]
        end = f"a[{helper.random.choice(['0', 'n - 1'])}]"
        body += [f"return ({end} if n > 0 else 0) - 1"]
        early = random.Random(f"{self.random.random()} returns")
        text = _function("helper", "a, b, n", _left_early(early, body))
        text += _function("sum_of", "a, b=2", _SUM)
        self.names.append("c")
        lines = [line for _k in range(self.random.randint(1, 3)) for line in self.statement(2)]
        lines += self._for(2)
        if self.chance(0.5):
            names = [name for name in self.names if name != "c"] or ["2 * c"]
            lines += [f"return {self.random.choice(names)}, {self.small()}"]
        return text + _function("program", "x, y, A, S, p, c, n", _left_early(early, lines))

    def _inner(self) -> list[str]:
        """A loop over two vectors alone."""
        self.arrays, op = ["a", "b"], self.random.choice(["=", "+="])
        return [
            f"for i in {self._range()}:",
            f"    a[i] {op} max(-9, min(9, {self.random.choice(['a', 'b'])}[n - 1 - i] + b[i]))",
        ]


def _left_early(chosen: random.Random, lines: list[str]) -> list[str]:
    """The lines of a function, of some with more returns than that at its end: in place of a
    ``break``, and under conditions."""
    if chosen.random() < 0.6:
        return lines
    last = lines[-1] if lines[-1].startswith("return") else ""
    result = f"{chosen.randint(-3, 3)}, n" if "," in _outside_calls(last) else "2 * n"
    leave, done = f"return {result}" if last else "return", []
    for line in lines:
        if line.strip() in ("break", "continue") and chosen.random() < 0.5:
            line = line[: len(line) - len(line.lstrip())] + leave
        elif line.startswith(("for", "if", "while")) and chosen.random() < 0.3:
            done += [f"if n == {chosen.randint(0, 4)}:", f"    {leave}"]
        done.append(line)
    return done


def _outside_calls(text: str) -> str:
    """A text without what is in parentheses and brackets."""
    depth, found = 0, ""
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        found += letter if depth == 0 else ""
    return found


def _indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


def _function(name: str, params: str, body: list[str]) -> str:
    return f"def {name}({params}):\n" + textwrap.indent("\n".join(body), "    ") + "\n\n\n"


_SUM = [
    "s = 0.0", "for i in range(len(a)):", "    s += a[i] * i", "return max(-9, min(9, s - b))",
]  # fmt: skip
_RANGE = re.compile(r"for (\w+) in (range\([^,\n]*(?:, [^,\n]*)?\)):")


def in_parallel(text: str, chosen: random.Random) -> str:
    """The program with one of its loops, if there is one over a plain range, parallel."""
    found = list(_RANGE.finditer(text))
    if not found:
        return text
    loop = chosen.choice(found)
    head = f"for {loop[1]} in parallel({loop[2]}):"
    return text[: loop.start()] + head + text[loop.end() :]


__all__ = ["Writer", "in_parallel"]
