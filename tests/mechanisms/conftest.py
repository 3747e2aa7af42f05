"""What the tests of mechanisms share: the original, and releases of it."""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from cases import CASES, Case, secret, staff

from ppdm_sql.publishing.release import publish

ROWS = 4_000


@pytest.fixture(params=CASES, ids=lambda case: case.name, scope="session")
def case(request) -> Case:
    return request.param


@pytest.fixture(scope="session")
def original():
    with duckdb.connect() as con:
        con.register("generated", staff(ROWS))
        con.execute("CREATE TABLE staff AS FROM generated")
        yield con


@pytest.fixture(scope="session")
def releases(tmp_path_factory):
    """Releases of the staff under numbered keys; each is made once."""
    folder = tmp_path_factory.mktemp("mechanisms")

    def make(case: Case, retain: float, number: int = 0, ending: str = "duckdb") -> Path:
        path = folder / f"{case.name}-{retain}-{number}.{ending}"
        if not path.exists():
            publish(staff(ROWS), case.policy(retain), to=path, key=secret(number))
        return path

    return make
