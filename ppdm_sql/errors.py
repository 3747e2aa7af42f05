"""Every error that ppdm_sql raises on purpose, in one tree.

::

    PpdmError                       what happened, which rule, what to do
    ├── PolicyError  (ValueError)   a policy that cannot be meant: missing domain, p outside (0, 1], ..
    ├── KeyFileError (ValueError)   a key file that is not a key, or that others may read
    ├── SourceError  (ValueError)   a source that cannot be read or does not fit its policy
    ├── TargetError  (ValueError)   a release that cannot be written where it was asked for
    ├── ReleaseError (ValueError)   a file that is not a release, or whose manifest cannot be read
    ├── SettingError (ValueError)   SET ppdm_... with an unknown name or value
    ├── LimitExceeded               a statement that needs more time, rows or memory than its connection allows
    └── QueryError   (ValueError)   a query that cannot be understood
        ├── Unsupported             a query that cannot be answered from perturbed values
        └── Locked                  a statement that a locked connection does not run

    PpdmWarning (UserWarning)
    ├── NotConverged                an iterative answer stopped before its certificate; names the gap
    ├── RareValues                  a release holds values that hardly anybody has
    ├── OtherRows                   positions may name other rows than in an earlier release of the same key
    ├── Waiting                     another publication is at work in the same place
    ├── AnswersDropped              stored answers to a release that gave way to another are dropped with it
    └── NotConfirmed                a release is in place, and its ledger counts it without knowing that

No message ever holds a key or a value of an original row: a row is named by its position, a value by its rule.
The exit code of the command line lives here too.
"""

from __future__ import annotations

AGAIN = "The release is damaged, or was changed: get it again from its publisher."
"""The end of what is said of a release that cannot be right."""


class PpdmError(Exception):
    """Base of all errors a user can cause; the command line prints the message alone and exits with this code."""

    exit_code = 2


class PolicyError(PpdmError, ValueError):
    """The policy breaks a rule."""


class KeyFileError(PpdmError, ValueError):
    """The key file cannot be used."""


class SourceError(PpdmError, ValueError):
    """The source cannot be read, or its values do not fit the policy."""


class TargetError(PpdmError, ValueError):
    """The release cannot be written there."""


class ReleaseError(PpdmError, ValueError):
    """The file is not a release that this version can read."""


class SettingError(PpdmError, ValueError):
    """A setting has an unknown name or value."""


class QueryError(PpdmError, ValueError):
    """The query cannot be understood."""


class Unsupported(QueryError):
    """The query cannot be answered from perturbed values."""


class Locked(QueryError):
    """A locked connection does not run the statement."""


class LimitExceeded(PpdmError):
    """The statement needs more time, rows or memory than its connection allows."""


class PpdmWarning(UserWarning):
    """Base of all warnings."""


class NotConverged(PpdmWarning):
    """An iterative answer stopped before its certificate was reached."""


class RareValues(PpdmWarning):
    """A release holds values that hardly anybody has, which tell more than the others."""


class OtherRows(PpdmWarning):
    """Rows are named by their position, which may have named other rows in an earlier release of the same key."""


class Waiting(PpdmWarning):
    """Another publication is at work in the same place, and this one begins when it has ended."""


class AnswersDropped(PpdmWarning):
    """Stored answers to a release that gave way to another are dropped with it."""


class NotConfirmed(PpdmWarning):
    """A release is in place and in its key's ledger, which could not be told that it is in place."""
