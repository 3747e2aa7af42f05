"""Release tables with randomly perturbed columns, and ask them ordinary SQL.

>>> import ppdm_sql
>>> ppdm_sql.__all__
['Connection', 'Policy', 'connect', 'load_policy', 'publish']

As a module it follows DB-API 2.0 (PEP 249), so it also has the names of `ppdm_sql.connection.dbapi`:

>>> ppdm_sql.apilevel, ppdm_sql.paramstyle
('2.0', 'qmark')
>>> issubclass(ppdm_sql.ProgrammingError, ppdm_sql.Error)
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ppdm_sql.connection.connect import connect
    from ppdm_sql.connection.connection import Connection
    from ppdm_sql.connection.dbapi import BINARY as BINARY
    from ppdm_sql.connection.dbapi import DATETIME as DATETIME
    from ppdm_sql.connection.dbapi import NUMBER as NUMBER
    from ppdm_sql.connection.dbapi import ROWID as ROWID
    from ppdm_sql.connection.dbapi import STRING as STRING
    from ppdm_sql.connection.dbapi import Binary as Binary
    from ppdm_sql.connection.dbapi import DatabaseError as DatabaseError
    from ppdm_sql.connection.dbapi import DataError as DataError
    from ppdm_sql.connection.dbapi import Date as Date
    from ppdm_sql.connection.dbapi import DateFromTicks as DateFromTicks
    from ppdm_sql.connection.dbapi import Error as Error
    from ppdm_sql.connection.dbapi import IntegrityError as IntegrityError
    from ppdm_sql.connection.dbapi import InternalError as InternalError
    from ppdm_sql.connection.dbapi import NotSupportedError as NotSupportedError
    from ppdm_sql.connection.dbapi import OperationalError as OperationalError
    from ppdm_sql.connection.dbapi import ProgrammingError as ProgrammingError
    from ppdm_sql.connection.dbapi import Time as Time
    from ppdm_sql.connection.dbapi import TimeFromTicks as TimeFromTicks
    from ppdm_sql.connection.dbapi import Timestamp as Timestamp
    from ppdm_sql.connection.dbapi import TimestampFromTicks as TimestampFromTicks
    from ppdm_sql.connection.dbapi import Warning as Warning
    from ppdm_sql.policy import Policy, load_policy
    from ppdm_sql.publishing import publish

__version__ = "0.1.0"

apilevel = "2.0"
paramstyle = "qmark"  # `?`; `$1` and `$name` work too
threadsafety = 1  # threads may share the module, each with a cursor() of its own

# fmt: off
_DBAPI = (
    "BINARY", "DATETIME", "NUMBER", "ROWID", "STRING", "Binary", "Date", "DateFromTicks", "Time", "TimeFromTicks",
    "Timestamp", "TimestampFromTicks", "DataError", "DatabaseError", "Error", "IntegrityError", "InternalError",
    "NotSupportedError", "OperationalError", "ProgrammingError", "Warning",
)
# fmt: on

_HOMES = dict.fromkeys(_DBAPI, "ppdm_sql.connection.dbapi") | {
    "Connection": "ppdm_sql.connection.connection",
    "Policy": "ppdm_sql.policy",
    "connect": "ppdm_sql.connection.connect",
    "load_policy": "ppdm_sql.policy",
    "publish": "ppdm_sql.publishing",
}

__all__ = ["Connection", "Policy", "connect", "load_policy", "publish"]


def __getattr__(name: str) -> Any:
    """Load what is heavy when it is first used, so that importing the package stays quick."""
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'ppdm_sql' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*_HOMES, "__version__", "apilevel", "paramstyle", "threadsafety"])
