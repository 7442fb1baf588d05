"""The C code of inline caches (see ``inline_cache``).

It is written against the stable ABI of CPython, whose functions it declares itself: there is no
need of CPython's headers, which many machines lack. The fields of NumPy's arrays are read where
NumPy's own headers read them, for modules that were compiled long before.
"""

from __future__ import annotations

from finch_backend_c.bound import HERE, passed_words

MOST_RANGES, MOST_DIMENSIONS = 12, 8
"""The most buffers of a tensor, and dimensions of an array: arguments with more are compared in
Python."""

_TEXT = """\
#include <stdbool.h>
#include <stdint.h>

// What every object of Python begins with, and an array of NumPy.
typedef struct object {
    intptr_t references;
    struct object *type;
} object;
typedef struct {
    object head;
    char *data;
    int ndim;
    intptr_t *shape, *strides;
    object *base, *dtype;
    int flags;
} array;
enum { CONTIGUOUS = 1, ALIGNED = 256, WRITEABLE = 1024 };

// Of the stable ABI of CPython.
typedef struct {
    const char *name;
    object *(*function)(object *, object *);
    int flags;
    const char *doc;
} method;
object *PyCFunction_NewEx(method *, object *, object *);
intptr_t PyTuple_Size(object *);
object *PyTuple_GetItem(object *, intptr_t);
int PyObject_SetAttr(object *, object *, object *);
int PyList_SetItem(object *, intptr_t, object *);
object *PyObject_GetAttr(object *, object *);
object *PyObject_CallFunctionObjArgs(object *, ...);
object *PyNumber_Index(object *);
double PyFloat_AsDouble(object *);
object *PyLong_FromLongLong(long long);
long long PyLong_AsLongLong(object *);
unsigned long long PyLong_AsUnsignedLongLong(object *);
void *PyLong_AsVoidPtr(object *);
object *PyDict_GetItemWithError(object *, object *);
object *PyErr_Occurred(void);
void PyErr_SetObject(object *, object *);
void PyErr_Clear(void);
void PyErr_Fetch(object **, object **, object **);
void PyErr_Restore(object *, object *, object *);
void Py_IncRef(object *);
void Py_DecRef(object *);
void *PyEval_SaveThread(void);
void PyEval_RestoreThread(void *);

// What the program was parsed with: a name in a dict or an attribute, and its value, or null.
struct seen {
    object *owner, *name, *value;
};
enum { NUMBER, ARRAY, TENSOR };
struct guard {
    uint64_t kind;
    object *type;
    uint64_t written, growing;
    object *dtype;      // arrays
    uint64_t ndim;
    uint64_t size;      // of an element
    const intptr_t *shape;  // or null
    object *state;      // tensors; the owner's list has a reference to it
    object *signature;
    uint64_t alone;
    uint64_t address;
    uint64_t ranges;
    uint64_t memory[$ranges][2];
};
struct cache {
    uintptr_t thread;
    int64_t (*kernel)($types);
    int64_t *control;
    uint64_t *calls;
    int64_t result;
    object *missed, *none, *gather, *settle, *leave;
    object *state, *signature, *address, *memory;  // names
    object *plain;                                 // the class of states of tensors with memory
    object *writing, *ended, *lent, *writer;       // names, and the mark of its own calls
    object *yes, *no;
    uint64_t busy;
    const struct seen *names, *attributes;         // each until one without an owner
    uint64_t watched;
    const uint64_t *const *places;
    uint64_t *values;
    uint64_t workspace[$workspace];
    struct guard guards[$count];
};

$here
// Whether the attribute of an object is this one.
static bool has(object *x, object *name, const object *expected)
{
    object *const found = PyObject_GetAttr(x, name);
    if (!found) {
        PyErr_Clear();
        return !expected;
    }
    Py_DecRef(found);  // x has another reference, or compares with an object that lives
    return found == expected;
}

static bool holds(const struct cache *c)
{
    for (const struct seen *s = c->names; s->owner; s++)
        if (PyDict_GetItemWithError(s->owner, s->name) != s->value)
            return false;
    for (const struct seen *s = c->attributes; s->owner; s++)
        if (!has(s->owner, s->name, s->value))
            return false;
    return true;
}

static bool is_watched_same(const struct cache *c)
{
    for (uint64_t k = 0; k < c->watched; k++)
        if (*c->places[k] != c->values[k])
            return false;
    return true;
}

// A non-negative integer in a pair, or an attribute.
static bool take(object *x, uint64_t *value)
{
    if (!x)
        return false;
    *value = PyLong_AsUnsignedLongLong(x);
    return *value != UINT64_MAX || !PyErr_Occurred();
}

static bool take_ranges(object *memory, struct guard *g)
{
    const intptr_t count = PyTuple_Size(memory);
    if (count < 0 || count > $ranges)
        return false;
    g->ranges = (uint64_t)count;
    for (intptr_t k = 0; k < count; k++) {
        object *const range = PyTuple_GetItem(memory, k);
        for (int side = 0; side < 2; side++)
            if (!range || !take(PyTuple_GetItem(range, side), &g->memory[k][side]))
                return false;
    }
    return true;
}

// Another tensor with the signature of the guard's: the guard is that of this one from here on.
static bool adopt(struct cache *c, object *owner, intptr_t k, object *x, object *state)
{
    struct guard next = c->guards[k];
    if (next.alone || state->type != c->plain || !has(x, c->signature, next.signature))
        return false;
    object *const address = PyObject_GetAttr(x, c->address);
    object *const memory = address ? PyObject_GetAttr(x, c->memory) : 0;
    const bool fits = memory && take(address, &next.address) && take_ranges(memory, &next);
    if (memory)
        Py_DecRef(memory);
    if (address)
        Py_DecRef(address);
    if (!fits)
        return false;
    next.state = state;
    Py_IncRef(state);
    c->guards[k] = next;
    return PyList_SetItem(PyTuple_GetItem(owner, 1), k, state) == 0;
}

static bool is_known(struct cache *c, object *owner, intptr_t k, object *x)
{
    object *const state = PyObject_GetAttr(x, c->state);
    if (!state)
        return false;
    const bool known = state == c->guards[k].state || adopt(c, owner, k, x, state);
    Py_DecRef(state);
    return known;
}

// Whether no call writes a tensor whose structure grows, and no object is over its buffers.
static bool may_grow(const struct cache *c, object *x)
{
    object *const writer = PyObject_GetAttr(x, c->writing);
    if (!writer)
        return false;
    const bool may = has(writer, c->ended, c->yes) && has(writer, c->lent, c->no);
    Py_DecRef(writer);
    return may;
}

// Mark what grows as written by this call.
static bool mark(const struct cache *c, object *args)
{
    for (intptr_t k = 0; k < $count; k++)
        if (c->guards[k].growing)
            if (PyObject_SetAttr(c->writer, c->ended, c->no)
                || PyObject_SetAttr(PyTuple_GetItem(args, k), c->writing, c->writer))
                return false;
    return true;
}

// The call has ended, perhaps with an exception.
static void unmark(const struct cache *c)
{
    object *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (PyObject_SetAttr(c->writer, c->ended, c->yes))
        PyErr_Clear();
    PyErr_Restore(type, value, traceback);
}

// The word for a number, of the kernel's parameter of a letter.
static bool number(object *x, char letter, uint64_t *word)
{
    if (letter == 'f') {
        const double value = PyFloat_AsDouble(x);
        __builtin_memcpy(word, &value, sizeof value);
        return value != -1.0 || !PyErr_Occurred();
    }
    object *const integer = PyNumber_Index(x);
    if (!integer)
        return false;
    *word = letter == 'u' ? (uint64_t)PyLong_AsUnsignedLongLong(integer)
                          : (uint64_t)PyLong_AsLongLong(integer);
    Py_DecRef(integer);
    return *word != UINT64_MAX || !PyErr_Occurred();
}

static bool overlap(const uint64_t *a, uint64_t count, const uint64_t *b, uint64_t others)
{
    for (uint64_t i = 0; i < count; i++)
        for (uint64_t j = 0; j < others; j++)
            if (a[2 * i] < b[2 * j + 1] && b[2 * j] < a[2 * i + 1])
                return true;
    return false;
}

// Act on a status; false with an exception where the call fails.
static bool settled(const struct cache *c, int64_t status, object *args)
{
    object *const code = PyLong_FromLongLong(status), *failure = 0;
    if (code) {
        failure = PyObject_CallFunctionObjArgs(c->settle, code, args, (void *)0);
        Py_DecRef(code);
    }
    if (!failure) {
        object *type, *value, *traceback, *left = 0;
        PyErr_Fetch(&type, &value, &traceback);
        for (int again = 0; again < 8 && !left; again++) {  // handlers may raise in it, too
            PyErr_Clear();
            left = PyObject_CallFunctionObjArgs(c->leave, args, (void *)0);
        }
        if (left)
            Py_DecRef(left);
        PyErr_Clear();
        PyErr_Restore(type, value, traceback);
        return false;
    }
    const bool done = failure == c->none;
    if (!done)
        PyErr_SetObject((object *)failure->type, failure);
    Py_DecRef(failure);
    return done;
}

static object *result(const struct cache *c, object *args)
{
    if (c->result < 0 && c->gather != c->none)
        return PyObject_CallFunctionObjArgs(c->gather, args, (void *)0);
    object *const found = c->result < 0 ? c->none : PyTuple_GetItem(args, c->result);
    Py_IncRef(found);
    return found;
}

static object *missed(struct cache *c)
{
    PyErr_Clear();
    Py_IncRef(c->missed);
    return c->missed;
}

static object *call(object *owner, object *args)
{
    static const char letters[] = "$letters";
    struct cache *const c = PyLong_AsVoidPtr(PyTuple_GetItem(owner, 0));
    if (c->thread != (uintptr_t)&here || c->busy || PyTuple_Size(args) != $count || !holds(c)
        || !is_watched_same(c))
        return missed(c);
    uint64_t w[$total];
    uint64_t records[$count][$dimensions + 3], own[$count][2];
    const uint64_t *memory[$count];
    uint64_t ranges[$count];
    w[0] = (uintptr_t)c->control;
    for (intptr_t k = 0; k < $count; k++) {
        const struct guard *const g = &c->guards[k];
        object *const x = PyTuple_GetItem(args, k);
        if (x->type != g->type)
            return missed(c);
        memory[k] = own[k], ranges[k] = 0;
        if (g->kind == NUMBER) {
            if (!number(x, letters[k], &w[k + 1]))
                return missed(c);
        } else if (g->kind == ARRAY) {
            const array *const a = (array *)x;
            const int flags = CONTIGUOUS | ALIGNED | (g->written ? WRITEABLE : 0);
            if (a->dtype != g->dtype || a->ndim != (int)g->ndim || (a->flags & flags) != flags)
                return missed(c);
            uint64_t size = 1;
            for (int d = 0; d < a->ndim; d++) {
                if (g->shape && g->shape[d] != a->shape[d])
                    return missed(c);
                size *= records[k][d] = (uint64_t)a->shape[d];
            }
            records[k][a->ndim] = (uintptr_t)a->data;
            records[k][a->ndim + 1] = size;
            records[k][a->ndim + 2] = 0;
            w[k + 1] = (uintptr_t)records[k];
            own[k][0] = (uintptr_t)a->data;
            own[k][1] = (uintptr_t)a->data + (size ? size * g->size : 1);
            ranges[k] = 1;
        } else {
            if (!is_known(c, owner, k, x))
                return missed(c);
            if (g->growing && !may_grow(c, x))
                return missed(c);
            w[k + 1] = g->address, memory[k] = g->memory[0], ranges[k] = g->ranges;
        }
    }
    for (int k = 0; k < $count; k++)
        if (c->guards[k].written)
            for (int other = 0; other < $count; other++)
                if (other != k && overlap(memory[k], ranges[k], memory[other], ranges[other]))
                    return missed(c);
    for (int k = $count + 1; k < $total; k++)
        w[k] = c->workspace[k - $count - 1];
    if (!mark(c, args)) {
        unmark(c);
        return missed(c);
    }
    ++*c->calls;
    c->busy = 1;
    void *const thread = PyEval_SaveThread();
    const int64_t status = c->kernel($words);
    PyEval_RestoreThread(thread);
    for (uint64_t k = 0; k < c->watched; k++)
        c->values[k] = *c->places[k];
    object *const found = status == 0 || settled(c, status, args) ? result(c, args) : 0;
    unmark(c);
    c->busy = 0;
    return found;
}

// The function that calls, of a tuple: the address of its cache, the list of the tensors' states,
// and what must live as long.
object *finch_caller(object *owner)
{
    static method made = {"finch_call", call, 8, 0};
    return PyCFunction_NewEx(&made, owner, 0);
}

// Where the fields of an array are expected: its class, data, dimensions, first dimension, dtype,
// flags.
void finch_fields(object *x, uint64_t *found)
{
    const array *const a = (array *)x;
    found[0] = (uintptr_t)x->type;
    found[1] = (uintptr_t)a->data;
    found[2] = (uint64_t)a->ndim;
    found[3] = (uint64_t)a->shape[0];
    found[4] = (uintptr_t)a->dtype;
    found[5] = (uint64_t)(a->flags & (CONTIGUOUS | ALIGNED | WRITEABLE));
}
"""


def text(signature: str, count: int) -> str:
    """The C text for kernels of a signature (see ``entry.signature``), of which the first ``count``
    parameters are a call's arguments, and the others records of its workspace."""
    types, words = passed_words(signature)
    total = len(signature) + 1
    filled = {
        "$here": HERE, "$types": types, "$words": words, "$letters": signature[:count],
        "$count": str(count),
        "$total": str(total), "$workspace": str(max(total - 1 - count, 1)),
        "$ranges": str(MOST_RANGES), "$dimensions": str(MOST_DIMENSIONS),
    }  # fmt: skip
    found = _TEXT
    for name, value in filled.items():
        found = found.replace(name, value)
    return found
