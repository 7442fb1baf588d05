"""A rule of the simplifier, and hooks that observe, as they were for version 1."""

from finch_core.simplify import Rule

from finch_core.plugins import hookimpl

seen = []


def _apply(call):
    seen.append(("rule", call.op.name))


@hookimpl
def finch_rewrite_rules():
    return Rule("one_of_version_1", _apply)


@hookimpl
def finch_after_stage(name, stage, value):
    seen.append((name, stage))


@hookimpl
def finch_kernel_built(name, seconds, cached):
    seen.append((name, sorted(seconds), cached))
