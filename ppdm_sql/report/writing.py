"""The report on a policy or a release, as one page."""

from __future__ import annotations

import secrets
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ppdm_sql.auditing import attack
from ppdm_sql.auditing.findings import audit_columns
from ppdm_sql.auditing.tables import open_original, policy_of
from ppdm_sql.connection.connect import connect
from ppdm_sql.engine.duckdb.release_files import manifest_of
from ppdm_sql.errors import PolicyError, ReleaseError
from ppdm_sql.policy import Manifest, Policy, load_policy
from ppdm_sql.policy.model import TRIAL
from ppdm_sql.publishing import publish
from ppdm_sql.publishing.sources import source_files
from ppdm_sql.report.columns import column_page
from ppdm_sql.report.ledger_section import SeveralPage, several_page
from ppdm_sql.report.limits import limits
from ppdm_sql.report.measured import Measured, measured
from ppdm_sql.report.page import check_page, render, write_page
from ppdm_sql.report.queries import ask
from ppdm_sql.report.rows import row_page
from ppdm_sql.report.subject import Subject, subject_of_policy, subject_of_release, subject_of_source
from ppdm_sql.report.summary import identity, released, short
from ppdm_sql.report.words import count, plural


def report(
    target: str | Path | Policy,
    to: str | Path,
    *,
    source: Any = None,
    level: str | None = None,
    ledger: str | Path | None = None,
    table: str | None = None,
    rows: int | None = None,
    replace: bool = False,
    progress: bool | None = None,
) -> Path:
    """Write the page for whoever decides on a release.

    Parameters
    ----------
    target
        A policy (or its ``*.toml``), or a release (``*.duckdb`` or ``*.parquet``).
    to
        The page, ``*.html``.
    source
        The original. With it the page has true answers beside estimates, what guessing gets right, and the audit; for
        a policy the table is published for this to a temporary place, with a key that is thrown away.
    level, table
        Which level of a policy; which table of a release.
    ledger
        The ledger of a key (its file's name with ``.ledger`` at the end): what its releases of the table tell together.
    rows
        For a policy without its table: how many rows errors are computed for.
    replace
        Write over a page that is there.

    Raises
    ------
    PpdmError
        Nothing is written then.
    """
    files = [] if isinstance(target, Policy) else [Path(target)]
    page = check_page(to, replace=replace, inputs=[*files, *source_files(source)])
    if isinstance(target, Policy) or str(target).lower().endswith(".toml"):
        if table is not None:
            raise PolicyError("a policy is for one table: --table is for releases that hold several.")
        policy = load_policy(target).at_level(level)
        contents = _of_policy(policy, source, level, rows, progress)
    else:
        if level is not None or rows is not None:
            raise ReleaseError("a release has its level and its rows already: --level and --rows are for policies.")
        contents = _of_release(str(target), source, table, progress)
    together = None if ledger is None else several_page(ledger, contents.subject.table)
    write_page(page, _text(contents, together))
    return page


@dataclass(frozen=True)
class _Contents:
    subject: Subject
    origin: str
    measured: Measured | None = None
    trial: bool = False


def _of_policy(policy: Policy, source: Any, level: str | None, rows: int | None, progress: bool | None) -> _Contents:
    origin = "What this policy does"
    if source is None:
        return _Contents(subject_of_policy(policy, level, rows), origin)
    if rows is not None:
        raise PolicyError("the source says how many rows there are: leave --rows out.")
    with tempfile.TemporaryDirectory(prefix="ppdm-report-") as folder:
        release = Path(folder) / "trial.duckdb"  # perturbed rows only, and gone with the folder
        in_order = replace(policy, order=TRIAL)  # so that its rows can be matched with their originals
        manifest = publish(source, in_order, to=release, key=secrets.token_bytes(32), progress=progress)
        found = _measure(str(release), manifest, source, policy, progress)
    return _Contents(subject_of_source(policy, level, manifest.columns, manifest.rows), origin, found, trial=True)


def _of_release(path: str, source: Any, table: str | None, progress: bool | None) -> _Contents:
    manifest = manifest_of(path, table)
    found = None if source is None else _measure(path, manifest, source, policy_of(manifest), progress)
    return _Contents(subject_of_release(manifest), f"What is released in {Path(path).name}", found)


def _measure(path: str, manifest: Manifest, source: Any, policy: Policy, progress: bool | None) -> Measured:
    guessed = None
    if manifest.rows and manifest.perturbed:
        guessed = attack([path], source, table=manifest.table, progress=progress)
    with open_original(source, policy) as original, connect(path, read_only=True) as con:
        return measured(ask(con, original, manifest), guessed, audit_columns(original, manifest.columns))


def _text(contents: _Contents, together: SeveralPage | None) -> str:
    subject, found = contents.subject, contents.measured
    number = plural(subject.rows, "row")
    known = number if subject.rows_known else f"Errors are computed for {number}, as an example"
    how = (
        "Asked of a trial release made for this page, with a key that was thrown away."
        if contents.trial
        else "Asked of the release."
    )
    return render(
        "report.html",
        title=f"{subject.table}: what is released, what is protected",
        subject=subject,
        origin=contents.origin,
        rows=known,
        count_rows=count(subject.rows),
        short=short(subject, found),
        released=released(subject),
        identity=identity(subject),
        columns=[column_page(column, subject.rows) for column in subject.perturbed],
        row=row_page(subject),
        several=together,
        measured=found,
        asked=how,
        limits=limits(subject),
    )
