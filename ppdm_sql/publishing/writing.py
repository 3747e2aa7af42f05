"""Errors of writing, as a user is told of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import duckdb
import pyarrow as pa

from ppdm_sql.errors import TargetError

Result = TypeVar("Result")


def writing(where: str, action: Callable[[], Result], what: str | None = None) -> Result:
    """Run an action on the target; its errors are named by class only, for their text may quote a value."""
    try:
        return action()
    except OSError as error:
        reason, what = error.strerror or type(error).__name__, None  # no column is to blame for a full disk
    except (duckdb.Error, pa.ArrowException, RuntimeError) as error:
        reason = type(error).__name__
    if what is not None:
        raise TargetError(f"{where}: {what} ({reason}). Cast it in the source, or drop it.")
    raise TargetError(f"{where} cannot be written ({reason}). Check the space and the permissions there.")
