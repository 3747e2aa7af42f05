"""The page says what is true, escapes what it is given, and stands by itself."""

from __future__ import annotations

import re
from datetime import date
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pytest
from browser import PROGRAM, look

from ppdm_sql.auditing import attack
from ppdm_sql.errors import PolicyError, ReleaseError, TargetError
from ppdm_sql.policy import load_policy
from ppdm_sql.publishing import publish
from ppdm_sql.report.attack_page import write_attack
from ppdm_sql.report.writing import report

ROWS = 3_000
HOSTILE = "<script>alert(1)</script>"
VALUE = '"><img src=x onerror=alert(2)> {{ 7 * 7 }} {table}'
KEY = bytes(range(32))


def people(rows: int = ROWS) -> pa.Table:
    rng = np.random.default_rng(11)
    return pa.table(
        {
            "id": np.arange(rows) + 700_000_000,
            "sex": np.take(["F", "M"], rng.integers(2, size=rows)),
            "age": 17 + (74 * rng.beta(2, 3, rows)).astype(int),
            "wage": np.round(150_000 * rng.beta(2, 5, rows), 2),
            HOSTILE: np.take([VALUE, "b", "c"], rng.choice(3, rows, p=[0.5, 0.3, 0.2])),
            "moved": pa.array(np.datetime64("2000-01-01") + rng.integers(0, 9000, rows), mask=rng.random(rows) < 0.1),
        }
    )


def policy(retain: float = 0.3, table: str = "people") -> dict:
    uniform = {"mechanism": "uniform", "retain": retain}
    return {
        "table": table,
        "identity": ["id"],
        "columns": {
            "id": {"mechanism": "drop"},
            "age": uniform | {"domain": {"min": 17, "max": 90}},
            "wage": uniform | {"domain": {"min": 0, "max": 150_000, "step": 0.01}},
            HOSTILE: uniform | {"domain": {"values": [VALUE, "b", "c"]}},
            "moved": uniform | {"domain": {"min": date(2000, 1, 1), "max": date(2024, 12, 31)}, "nulls": "keep"},
        },
    }


def small(retain: float = 0.3) -> dict:
    """One perturbed column: quick to draw."""
    return {"table": "people", "columns": {"age": policy(retain)["columns"]["age"]}}


class Checked(HTMLParser):
    """Every tag that needs an end has one, in order; collects what could load or run something."""

    VOID = ("meta", "link", "br")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []
        self.ids: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)
        values = dict(attrs)
        self.ids += [values["id"]] if "id" in values else []
        self.loads += [f"{tag} {k}={v}" for k, v in attrs if k in ("src", "srcset", "data") or k.startswith("on")]
        self.loads += [
            f"{tag} {k}={v}"
            for k, v in attrs
            if k in ("href", "xlink:href") and not (v or "").startswith(("#", "data:,"))
        ]
        self.loads += [tag] if tag in ("script", "iframe", "object", "embed", "img") else []

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.text.append(data)


def checked(path) -> str:
    """The page's words, once it is known to be whole and to load nothing."""
    parser = Checked()
    parser.feed(path.read_text(encoding="utf-8"))
    assert parser.open == []
    assert parser.loads == []
    assert len(set(parser.ids)) == len(parser.ids)
    return re.sub(r"\s+", " ", "".join(parser.text))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("report")


@pytest.fixture(scope="module")
def full(folder):
    """The key of the trial release is fixed, so that every run writes the same page."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ppdm_sql.report.writing.secrets.token_bytes", lambda count: KEY[:count])
        return report(load_policy(policy()), folder / "full.html", source=people(), progress=False)


def test_the_words_of_a_column(full):
    text = checked(full)
    assert "A 54 is published as 54 with 30.9 %, and as any given other value with 0.946 % each." in text
    assert "The value 2012-07-02 is published as 2012-07-02 with 30 %" in text
    assert "what was 10 % likely becomes at most 78.4 % and at least 0.338 % likely" in text
    assert "Which rows have no value stays visible in moved." in text
    assert "4 columns perturbed, 1 released as they are, 1 not released." in text


def test_every_limit_is_told(full):
    text = checked(full)
    for title in (
        "Columns that depend on each other",
        "Several releases",
        "Publishing again",
        "Exact columns",
        "The key",
    ):
        assert title in text


def test_the_order_of_the_source_is_told(folder):
    """Of a policy that asks for it, and of a release that has it; of no other."""
    source = people(600)
    for order, told in ((None, False), ("source", True)):
        said = small() | ({} if order is None else {"order": order})
        path = folder / f"order_{order}.parquet"
        publish(source, said, to=path, key=KEY, progress=False)
        for subject in (load_policy(said), path):
            page = checked(report(subject, folder / f"{order}_{told}.html", progress=False, replace=True))
            assert ("Rows are released in the order of the source." in page) is told


def test_answers_and_audit(full):
    text = checked(full)
    assert "Not for publication." in text
    truth = int(np.count_nonzero((people()["age"].to_numpy() >= 35) & (people()["age"].to_numpy() <= 71)))
    assert (
        f'1. rows with age from 35 to 71SELECT count(*) AS n FROM "people" WHERE "age" BETWEEN 35 AND 71{truth:,}'
        in text
    )
    held = re.search(r"Of (\d+) typical queries, (\d+) have the truth", text)
    assert held is not None
    assert int(held[1]) >= 8
    assert int(held[2]) >= int(held[1]) - 3
    assert "No row is alone in its exact columns (sex)" in text


def test_findings_are_on_the_page(folder):
    table = people()
    wages = np.where(np.arange(ROWS) % 3 > 0, np.round(table["wage"].to_numpy(), -3), table["wage"].to_numpy())
    table = table.set_column(3, "wage", pa.array(wages)).append_column("postcode", pa.array(np.arange(ROWS) // 2))
    text = checked(report(load_policy(policy()), folder / "found.html", source=table, progress=False))
    assert "wage: multiples of 0.5" in text or "wage: whole numbers" in text or "wage: multiples of 5" in text
    assert "What to do:" in text


def test_no_row_of_the_original_is_on_the_page(full):
    text = checked(full)
    assert re.search(r"7000\d{5}|700,00\d,\d{3}", text) is None
    wages = [wage for wage in people()["wage"].to_pylist() if wage >= 1000]
    written = {f"{wage:.2f}" for wage in wages} | {f"{wage:,.2f}" for wage in wages}
    assert len(written) > ROWS
    assert written.isdisjoint(re.findall(r"[\d,]+\.\d\d\b", text))


def test_names_and_values_are_escaped(full):
    raw = full.read_text(encoding="utf-8")
    assert HOSTILE not in raw
    assert "<img" not in raw
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in raw
    text = checked(full)
    assert HOSTILE in text
    assert VALUE in text


def test_the_policy_alone(folder):
    written = report(load_policy(policy()), folder / "policy.html", rows=1_000_000)
    text = checked(written)
    assert "Not for publication" not in text
    assert "Audit" not in text
    assert "1,000,000 rows" in text
    assert "all other columnsreleased as they are" in text
    assert written.stat().st_size < 400_000


def test_a_release(folder):
    publish(people(), policy(), to=folder / "r.duckdb", key=KEY, progress=False)
    publish(people(), policy(0.9, "others"), to=folder / "r.duckdb", key=KEY, progress=False)
    text = checked(report(folder / "r.duckdb", folder / "release.html", table="others"))
    assert "What is released in r.duckdb" in text
    assert "0.9 kept" in text
    with pytest.raises(ReleaseError, match="several tables"):
        report(folder / "r.duckdb", folder / "again.html")
    with pytest.raises(ReleaseError, match="--level and --rows are for policies"):
        report(folder / "r.duckdb", folder / "again.html", table="others", rows=5)
    assert not (folder / "again.html").exists()


def test_levels(folder):
    declared = small() | {"levels": {"public": 0.1, "government": 0.8}}
    text = checked(report(load_policy(declared), folder / "level.html", level="public"))
    assert "level public" in text
    assert "0.1 kept" in text
    with pytest.raises(PolicyError, match="level 'x' is not declared"):
        report(load_policy(declared), folder / "levels.html", level="x")


def test_edges(folder):
    everything = policy()
    everything["columns"]["age"] |= {"retain": 1.0}
    everything["columns"]["wage"] |= {"domain": {"min": 7, "max": 7, "step": 1}}
    text = checked(report(load_policy(everything), folder / "edges.html"))
    assert "A 54 is published as 54, always: nothing is hidden." in text
    assert "this protects nothing" in text
    plain = checked(report(load_policy({"table": "plain"}), folder / "plain.html"))
    assert "No column is perturbed: the table is released as it is." in plain
    nobody = checked(report(load_policy(small()), folder / "nobody.html", source=people(0), progress=False))
    assert "0 rows" in nobody


def test_a_custom_replacing_distribution(folder):
    custom = {"mechanism": "custom", "replace": {"values": ["a", "b"], "weights": [3, 1]}, "retain": 0.5}
    text = checked(report(load_policy({"table": "t", "columns": {"x": custom}}), folder / "custom.html"))
    assert "The value b is published as b with 62.5 %, and as any given other value with 37.5 % to 37.5 %" in text


def test_mechanisms_without_a_channel_speak_for_themselves(folder):
    rng = np.random.default_rng(2)
    jobs = ["clerk", "cook", "driver", "nurse"]
    table = pa.table(
        {
            "pay": np.round(rng.normal(50, 8, 2_000)),
            "job": np.take(jobs, rng.choice(4, 2_000, p=[0.4, 0.3, 0.2, 0.1])),
            "age": rng.integers(17, 91, 2_000),
        }
    )
    declared = small() | {"identity": []}
    declared["columns"] |= {
        "pay": {"mechanism": "gaussian", "noise": 0.5, "deviation": 8, "step": 1},
        "job": {"mechanism": "small_domain", "domain": {"values": jobs}, "privacy": {"rho1": 0.35, "rho2": 0.7}},
    }
    text = checked(report(load_policy(declared), folder / "others.html", source=table, progress=False))
    assert "There is no bound on what somebody can learn who knew something before." in text
    assert "There is no such number for pay, and so no bound on what the row as a whole tells." in text
    assert "the exact columns included: what was 10 % likely becomes at most" in text
    assert "job_part" in text


def test_a_page_is_never_written_over(folder, full):
    before = full.read_bytes()
    with pytest.raises(TargetError, match="is there already: name another file, or say --replace"):
        report(load_policy(policy()), full)
    assert full.read_bytes() == before
    other = folder / "twice.html"
    report(load_policy(small(0.2)), other)
    report(load_policy(small(0.7)), other, replace=True)
    assert "0.7 kept" in checked(other)
    assert list(folder.glob(".*tmp")) == []


def test_where_a_page_cannot_go(folder, tmp_path):
    (tmp_path / "d.html").mkdir()
    for to, message in [
        ("page.pdf", "ends with .html"),
        ("gone/page.html", "does not exist"),
        ("d.html", "is a directory"),
    ]:
        with pytest.raises(TargetError, match=message):
            report(load_policy(policy()), tmp_path / to)
    assert [path.name for path in tmp_path.iterdir()] == ["d.html"]


def test_the_same_page_twice(folder):
    first = report(load_policy(small()), folder / "one.html").read_bytes()
    assert report(load_policy(small()), folder / "two.html").read_bytes() == first


@pytest.mark.skipif(PROGRAM is None, reason="there is no Chromium here (Debian: apt-get install chromium)")
class TestInABrowser:
    def test_the_report(self, full, tmp_path):
        seen = look(full, tmp_path)
        assert seen.console == []
        for view in (seen.phone, seen.desk):
            assert view["width"] <= view["view"], "nothing is wider than the window"
            assert view["plots"] == 11
            assert view["scripts"] == 0
            assert view["labelled"]
            assert HOSTILE in view["text"]
        assert seen.phone["narrowest"] > 270
        assert seen.phone["smallest_letters"] >= 10
        assert seen.desk["narrowest"] > 320

    def test_the_attack(self, folder, tmp_path):
        paths = [folder / f"{n}.parquet" for n in range(2)]
        for n, path in enumerate(paths):
            publish(people(), policy(), to=path, key=bytes([n]) * 32, progress=False)
        written = folder / "attack.html"
        write_attack(attack(paths, people(), progress=False), ["age: independent"], written)
        assert HOSTILE in checked(written)
        seen = look(written, tmp_path)
        assert seen.console == []
        for view in (seen.phone, seen.desk):
            assert view["width"] <= view["view"]
            assert view["plots"] == 3
            assert view["labelled"]
