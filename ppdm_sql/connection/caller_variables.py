"""The caller's variables: `FROM frame` reads a data frame by the name of a variable where DuckDB is called.

DuckDB looks at the Python frame that calls it, which would be ours. So the call is made from a frame that has the names
of the caller.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

Result = TypeVar("Result")

_OURS = (
    "ppdm_sql.connection.connection",
    "ppdm_sql.engine.duckdb.limits",
    "ppdm_sql.connection.results",
    "ppdm_sql.connection.caller_variables",
)
_CALL = compile("__ppdm_call__(**__ppdm_arguments__)", "<ppdm_sql>", "eval")


def with_variables_of_caller(
    call: Callable[..., Result], arguments: dict[str, Any], plain: Callable[[Any], Any]
) -> Result:
    """Call DuckDB where the caller's variables are in sight, each replaced by what `plain` gives for it."""
    frame = _caller()
    world, names = frame.f_globals, {name: plain(value) for name, value in frame.f_locals.items()}
    if str(world.get("__name__")).startswith("ppdm_sql."):  # a front end: SQL typed there means none of its variables
        world, names = {}, {}
    elif any(plain(value) is not value for value in tuple(world.values())):
        world = {name: plain(value) for name, value in world.items()}
    names["__ppdm_call__"], names["__ppdm_arguments__"] = call, arguments
    result: Result = eval(_CALL, world, names)  # noqa: S307  # the text is our own constant
    return result


def _caller() -> FrameType:
    """The innermost frame outside the connection."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__") in _OURS:
        frame = frame.f_back
    return frame
