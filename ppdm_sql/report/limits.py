"""What this kind of release does not protect against, in plain words."""

from __future__ import annotations

from ppdm_sql.report.subject import Subject
from ppdm_sql.report.words import listed


def limits(subject: Subject) -> tuple[tuple[str, str], ...]:
    """Each a heading and a sentence or two; those that do not concern the table are left out."""
    found = [
        (
            "Columns that depend on each other",
            "Each column's promise is about that column alone. Where two tell the same thing (an age and a date of "
            "birth), an attacker has two tries at it. Drop one of them, or keep less of both.",
        ),
        (
            "Several releases",
            "Releases of one table under one key, to recipients of several levels, tell no more together than the one "
            "that keeps most. Releases under different keys, or with other domains or names, are independent "
            "draws of the same values: their epsilons add up.",
        ),
        (
            "Publishing again",
            "A table that is published again needs the same key, table name, column names, identity, domains and "
            "rule for NULLs. Then every value meets the same coins, and nothing new is told. A value that changed "
            "between two publications gives away that it may have changed.",
        ),
        (
            "Who is in the table",
            "The number of rows, and that a person's row is among them, is not hidden.",
        ),
        (
            "The key",
            "Whoever has the key can undo the perturbation. It is not in the release, and must stay with the "
            "publisher.",
        ),
        (
            "Answers",
            "Answers are estimates. Their intervals are about this table over the coins of the perturbation: they say "
            "nothing of a larger population that it may be a sample of.",
        ),
    ]  # fmt: skip
    if subject.exact is None or subject.exact:
        which = "Columns that the policy does not name" if subject.exact is None else listed(list(subject.exact))
        verb = "are" if subject.exact is None or len(subject.exact) > 1 else "is"
        found.insert(0, (
            "Exact columns",
            f"{which} {verb} released as {'they are' if verb == 'are' else 'it is'}. Together they may name a "
            "person, and they may foretell a perturbed column.",
        ))  # fmt: skip
    kept = [c.name for c in subject.perturbed if getattr(c.bound, "nulls", None) == "keep"]
    if kept:
        found.append(("NULLs", f"Which rows have no value stays visible in {listed(kept)}."))
    if subject.identity is not None and not subject.identity:
        found.append((
            "Order of rows",
            "No column names a row, so its position does: keep the order when the table is published again, and add "
            "new rows at the end.",
        ))  # fmt: skip
    if subject.as_in_source:
        found.append((
            "The source's order",
            "Rows are released in the order of the source. No perturbed column was sorted there, or nearly so; but "
            "whoever knows how the source was put together knows which row is whose, and neighbours that have "
            "something in common tell of each other.",
        ))  # fmt: skip
    return tuple(found)
