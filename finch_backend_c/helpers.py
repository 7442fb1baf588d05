"""C helper functions for operations that C lacks or leaves undefined.

Each is written once for a kind of dtype, and included in a kernel that calls it. In the texts
``$T`` is the C type, ``$S`` its suffix, ``$U`` the unsigned type of its width, ``$R`` and ``$r``
type and suffix of a complex number's parts, ``$m`` the suffix of the math library's functions,
``$N`` the width in bits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from finch_backend_c.sorting import HEAPSORT, SORT
from finch_backend_c.spelling import SUFFIXES, ctype, suffix
from finch_core.ir.dtypes import INTEGERS


def _two(body: str) -> str:
    return f"($T a, $T b)\n{{\n{body}\n}}"


def _one(body: str, result: str = "$T") -> str:
    return f"{result}|($T a)\n{{\n{body}\n}}"


_ANY = {
    "min": _two("    return b < a ? b : a;"),
    "max": _two("    return b > a ? b : a;"),
    "square": _one("    return a * a;"),
    "cube": _one("    return a * a * a;"),
    "fourth": _one("    a = a * a;\n    return a * a;"),
}
_ORDERED = {**_ANY, "minimum": _ANY["min"], "maximum": _ANY["max"]}
_INTEGER = {
    **_ORDERED,
    "ctz": _one("    return a ? (uint8_t)__builtin_ctzll((uint64_t)a) : $N;", "uint8_t"),
}
_SIGNED = {
    **_INTEGER,
    "floordiv": _two("""\
    if (b == 0)
        return 0;
    if (b == -1)  // the lowest number has no opposite
        return ($T)-a;
    return ($T)(a / b - (a % b != 0 && (a < 0) != (b < 0)));"""),
    "mod": _two("""\
    if (!__builtin_constant_p(b) && a >= 0 && a < b)  // an index that may wrap around seldom does
        return a;
    if (b == 0 || b == -1)
        return 0;
    const $T r = ($T)(a % b);
    return ($T)(r != 0 && (r < 0) != (b < 0) ? r + b : r);"""),
    "fmod": _two("    return ($T)(b == 0 || b == -1 ? 0 : a % b);"),
    "pow": _two("""\
    if (b < 0)
        return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
    $T r = 1;
    for (; b > 0; b >>= 1) {
        if (b & 1)
            r = ($T)(r * a);
        a = ($T)(a * a);
    }
    return r;"""),
    "lshift": _two("    return ($U)b < $N ? ($T)(($U)a << b) : 0;"),
    "rshift": _two("    return ($U)b < $N ? ($T)(a >> b) : a < 0 ? -1 : 0;"),
    "popcount": _one(
        "    return (uint8_t)__builtin_popcountll(($U)(a < 0 ? -($U)a : ($U)a));", "uint8_t"
    ),
    "abs": _one("    return ($T)(a < 0 ? -a : a);"),
    "sign": _one("    return (a > 0) - (a < 0);"),
}
_UNSIGNED = {
    **_INTEGER,
    "floordiv": _two("    return b ? ($T)(a / b) : 0;"),
    "mod": _two("    return b ? ($T)(a % b) : 0;"),
    "fmod": _two("    return b ? ($T)(a % b) : 0;"),
    "pow": _SIGNED["pow"].replace(
        "    if (b < 0)\n        return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;\n", ""
    ),
    "lshift": _two("    return b < $N ? ($T)(a << b) : 0;"),
    "rshift": _two("    return b < $N ? ($T)(a >> b) : 0;"),
    "frombits": _one("    $F r;\n    __builtin_memcpy(&r, &a, sizeof r);\n    return r;", "$F"),
    "popcount": _one("    return (uint8_t)__builtin_popcountll(a);", "uint8_t"),
    "sign": _one("    return a > 0;"),
}


def _to(wide: str, bound: str, missed: str) -> str:
    """A conversion to a signed integer of C that is defined, as on x86, for numbers that do not
    fit: they give its least number. One comparison, in the dtype of the number, and no more: gcc
    takes loops with two, or with one of doubles where floats are converted, for code that branches,
    or computes it in vectors of doubles."""
    return f"    return ($target)(__builtin_fabs$m(a) < {bound}$m ? ({wide}){_WHOLE} : {missed});"


_WHOLE = "(__builtin_trunc$m(a) + ($T)0)"
"""gcc takes a number that is cast to an integer and back for the truncated one, which may be -0."""

_TO_I32 = _to("int32_t", "0x1p31", "INT32_MIN")
_TO_I64 = _to("int64_t", "0x1p63", "INT64_MIN")
_TO_U64 = """\
    const uint64_t top = 1ull << 63;
    return a >= 0x1p63 ? (uint64_t)i64_$S(a - ($T)0x1p63) ^ top : (uint64_t)i64_$S(a);"""


def _to_integer(dtype: np.dtype[Any]) -> str:
    """The conversion of a float to this integer, through the least signed one that holds it."""
    bits = 8 * dtype.itemsize + (dtype.kind == "u")
    body = _TO_I32 if bits <= 32 else _TO_I64 if bits <= 64 else _TO_U64
    return _one(body, ctype(dtype))


_REAL = {
    **_ANY,
    "minimum": _two("    const $T least = a < b ? a : b;\n    return a != a ? a : least;"),
    "maximum": _two("    const $T most = a > b ? a : b;\n    return a != a ? a : most;"),
    "floordiv": _two("""\
    if (b == 0)
        return a / b;
    const $T r = fmod$m(a, b);
    const $T q = (a - r) / b - (r != 0 && (b < 0) != (r < 0) ? 1 : 0);
    if (q == 0)
        return copysign$m(0, a / b);
    const $T whole = floor$m(q);
    return q - whole > ($T)0.5 ? whole + 1 : whole;"""),
    "mod": _two("""\
    const $T r = fmod$m(a, b);
    if (b == 0)
        return r;
    if (r == 0)
        return copysign$m(0, b);
    return (b < 0) != (r < 0) ? r + b : r;"""),
    "sign": _one("    return a > 0 ? 1 : a < 0 ? -1 : a == 0 ? 0 : a;"),
    "isnan": _one("    return a != a;", "bool"),
    "isinf": _one("    return fabs$m(a) == __builtin_inf$m();", "bool"),
    "isfinite": _one("    return fabs$m(a) < __builtin_inf$m();", "bool"),
    "tobits": _one("    $U r;\n    __builtin_memcpy(&r, &a, sizeof r);\n    return r;", "$U"),
    **{suffix(dtype): _to_integer(dtype) for dtype in INTEGERS},
}
_PARTS = """\
    const $R ar = __real__ a, ai = __imag__ a, br = __real__ b, bi = __imag__ b;
"""
_PART = "    const $R x = __real__ a, y = __imag__ a;\n"
_COMPLEX = {
    # the textbook product, without C's recovery of infinities
    "mul": _two(_PARTS + "    return __builtin_complex(ar * br - ai * bi, ar * bi + ai * br);"),
    # Smith's division
    "truediv": _two(
        _PARTS
        + """\
    if (fabs$m(br) >= fabs$m(bi)) {
        if (br == 0 && bi == 0)
            return __builtin_complex(ar / fabs$m(br), ai / fabs$m(br));
        const $R ratio = bi / br, scale = 1 / (br + bi * ratio);
        return __builtin_complex((ar + ai * ratio) * scale, (ai - ar * ratio) * scale);
    }
    const $R ratio = br / bi, scale = 1 / (bi + br * ratio);
    return __builtin_complex((ar * ratio + ai) * scale, (ai * ratio - ar) * scale);"""
    ),
    "pow": _two(
        _PARTS
        + """\
    if (br == 0 && bi == 0)
        return 1;
    if (ar == 0 && ai == 0)
        return br > 0 ? 0 : __builtin_complex(__builtin_nan$m(""), __builtin_nan$m(""));
    if (bi != 0 || !(fabs$m(br) < 100) || br != (int)br)
        return cpow$m(a, b);
    $T r = 1, square = a;
    const int n = (int)br;
    if (n == 1)
        return a;
    if (n == 2)
        return mul_$S(a, a);
    if (n == 3)
        return mul_$S(a, mul_$S(a, a));
    for (int k = n < 0 ? -n : n; k; k >>= 1) {
        if (k & 1)
            r = mul_$S(r, square);
        square = mul_$S(square, square);
    }
    return n < 0 ? truediv_$S(1, r) : r;"""
    ),
    "lt": "bool|" + _two(_PARTS + "    return ar == br ? ai < bi : ar < br;"),
    "le": "bool|" + _two(_PARTS + "    return ar == br ? ai <= bi : ar < br;"),
    "min": _two("    return lt_$S(b, a) ? b : a;"),
    "max": _two("    return lt_$S(a, b) ? b : a;"),
    "minimum": _two(
        _PARTS
        + """\
    const bool first = (ar < br && ai == ai && bi == bi) || (ar == br && ai <= bi);
    return first || ar != ar || ai != ai ? a : b;"""
    ),
    "maximum": _two(
        _PARTS
        + """\
    const bool first = (ar > br && ai == ai && bi == bi) || (ar == br && ai >= bi);
    return first || ar != ar || ai != ai ? a : b;"""
    ),
    "abs": _one("    return hypot$m(__real__ a, __imag__ a);", "$R"),
    "sign": _one(
        _PART
        + """\
    const $R size = hypot$m(x, y), nan = __builtin_nan$m("");
    if (size != size)
        return __builtin_complex(nan, nan);
    if (size < __builtin_inf$m())
        return size == 0 ? 0 : __builtin_complex(x / size, y / size);
    if (isinf_$r(x) && isinf_$r(y))
        return __builtin_complex(nan, nan);
    return isinf_$r(x) ? __builtin_complex(copysign$m(1, x), ($R)0)
                       : __builtin_complex(($R)0, copysign$m(1, y));"""
    ),
    "rint": _one(_PART + "    return __builtin_complex(rint$m(x), rint$m(y));"),
    "isnan": _one(_PART + "    return x != x || y != y;", "bool"),
    "isinf": _one(_PART + "    return isinf_$r(x) || isinf_$r(y);", "bool"),
    "isfinite": _one(_PART + "    return isfinite_$r(x) && isfinite_$r(y);", "bool"),
    "log2": _one("    return clog$m(a) * ($R)1.442695040888963407359924681001892137;"),
    "log10": _one("    return clog$m(a) * ($R)0.434294481903251827651128918916605082;"),
    "exp2": _one("    return cexp$m(a * ($R)0.693147180559945309417232121458176568);"),
    "expm1": _one(
        _PART
        + """\
    const $R half = sin$m(y / 2);
    return __builtin_complex(expm1$m(x) * cos$m(y) - 2 * half * half, exp$m(x) * sin$m(y));"""
    ),
    "log1p": _one(
        _PART + "    return __builtin_complex(log$m(hypot$m(x + 1, y)), atan2$m(y, x + 1));"
    ),
}
_FAMILIES: dict[str, dict[str, str]] = {
    "b": _ORDERED,
    "i": _SIGNED,
    "u": _UNSIGNED,
    "f": _REAL,
    "c": _COMPLEX,
}

LIKELY = "#define likely(cond) __builtin_expect_with_probability(cond, 1, 0.99)\n"
UNLIKELY = "#define unlikely(cond) __builtin_expect(cond, 0)\n"
OVERLAP = """\
static inline bool overlap(const void *a, const void *a_stop, const void *b, const void *b_stop)
{
    const uintptr_t low = (uintptr_t)(a < b ? b : a);
    return low < (uintptr_t)a_stop && low < (uintptr_t)b_stop;
}
"""

PACKED = """\
// 64 bools as the bits of a word, the first as its lowest.
#ifdef __SSE2__
typedef char bytes_t __attribute__((vector_size(16), aligned(1), may_alias));
#endif
static inline uint64_t packed(const uint8_t *a)
{
    uint64_t bits = 0;
#ifdef __SSE2__
    for (int k = 0; k < 64; k += 16) {
        const bytes_t set = (bytes_t)(*(const bytes_t *)(a + k) != 0);
        bits |= (uint64_t)(uint16_t)__builtin_ia32_pmovmskb128(set) << k;
    }
#else
    for (int k = 0; k < 64; k++)
        bits |= (uint64_t)(a[k] != 0) << k;
#endif
    return bits;
}
"""

BOTH = """\
// Whether both bytes are not 0: the lesser of the two.
static inline uint8_t both(uint8_t a, uint8_t b)
{
    return b < a ? b : a;
}
"""

_OTHERS = {
    "both": BOTH,
    "overlap": OVERLAP,
    "likely": LIKELY,
    "unlikely": UNLIKELY,
    "packed": PACKED,
}

_FIELD = re.compile(r"\$([A-Za-z]+)")
_FUNCTION = re.compile(r"\b([a-z][a-z0-9_]*)\(")
_FLOATS = {size: ctype(np.dtype(f"f{size}")) for size in (2, 4, 8)}
"""The float type of each size."""
_HELPER = re.compile(rf"^([a-z0-9]+)_({'|'.join(SUFFIXES)})$")


@cache
def helper(name: str) -> str | None:
    """The definition of the helper of this name (``mod_i64``), or ``None`` if there is none."""
    if name in _OTHERS:
        return _OTHERS[name]
    match = _HELPER.match(name)
    if match is None:
        return None
    dtype = SUFFIXES[match[2]]
    if match[1] in ("sort", "heapsort"):
        sort = SORT if match[1] == "sort" else HEAPSORT
        return _filled(sort, _fields(dtype))
    text = _FAMILIES[dtype.kind].get(match[1])
    if text is None:
        return None
    result, bar, rest = text.partition("|($T")
    head, body = (result, "($T" + rest) if bar else ("$T", text)
    fields = _fields(dtype)
    fields["target"] = _filled(head, fields)
    return _filled(f"static inline {head} {name}{body}\n", fields)


def _filled(text: str, fields: dict[str, str]) -> str:
    """A text with the fields in the place of their names, ``$T``."""
    return _FIELD.sub(lambda found: fields[found[1]], text)


def _fields(dtype: np.dtype[Any]) -> dict[str, str]:
    part = np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype
    return {
        "T": ctype(dtype),
        "S": suffix(dtype),
        "U": f"uint{8 * dtype.itemsize}_t",
        "F": _FLOATS.get(dtype.itemsize, ""),
        "N": str(8 * dtype.itemsize),
        "R": ctype(part),
        "r": suffix(part),
        "m": "f" if part.itemsize == 4 else "",
    }


def has(name: str) -> bool:
    """Whether there is a helper of this name."""
    return helper(name) is not None


def called(text: str) -> tuple[str, ...]:
    """The names of functions called in a text, in order."""
    return tuple(dict.fromkeys(_FUNCTION.findall(text)))


def needed(text: str) -> tuple[str, ...]:
    """Definitions of the helpers that ``text`` calls, each after those that it calls."""
    return tuple(dict.fromkeys(_needed(text, "")))


def _needed(text: str, itself: str) -> Iterator[str]:
    for name in called(text):
        definition = helper(name) if name != itself else None
        if definition is not None:
            yield from _needed(definition, name)
            yield definition
