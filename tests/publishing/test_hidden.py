"""What Arrow keeps where nobody can read it is no part of what the writer of a release is handed."""

from __future__ import annotations

import io
import random

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from ppdm_sql.errors import TargetError
from ppdm_sql.publishing import publish
from ppdm_sql.publishing.writer.hidden import without_hidden
from ppdm_sql.publishing.writer.process import WriterProcess

JUNK = b"CANARYCA"
LEAVES = (
    pa.bool_(), pa.int8(), pa.int64(), pa.float64(), pa.decimal128(38), pa.binary(16), pa.timestamp("us", "UTC"),
    pa.string(), pa.binary(), pa.large_string(), pa.string_view(),
)  # fmt: skip


def bits(valid):
    return pa.py_buffer(np.packbits(np.array(valid, bool), bitorder="little").tobytes() + 3 * JUNK)


def leaf(kind, count, rng):
    """Values with junk under NULLs and after the last one."""
    valid = [rng.random() < 0.6 for _ in range(count)]
    if kind == pa.string_view():
        return leaf(pa.string(), count, rng).cast(kind)
    if kind in (pa.string(), pa.binary(), pa.large_string()):
        parts = [b"fine %d" % rng.randrange(100) if each else JUNK for each in valid]
        ends = np.cumsum([0, *map(len, parts)]).astype(np.int64 if kind == pa.large_string() else np.int32)
        buffers = [pa.py_buffer(ends.tobytes() + JUNK), pa.py_buffer(b"".join(parts) + 20 * JUNK)]
    elif kind == pa.bool_():
        buffers = [pa.py_buffer(bytes(count // 8 + 1) + 9 * JUNK)]
    else:
        width = kind.bit_width // 8
        parts = [bytes([1]) + bytes(width - 1) if each else (2 * JUNK)[:width] for each in valid]
        buffers = [pa.py_buffer(b"".join(parts) + 9 * JUNK)]
    return pa.Array.from_buffers(kind, count, [bits(valid), *buffers])


def nested(depth, count, rng):
    """An array of any type that DuckDB hands over, of so many levels at most."""
    kind = rng.choice(["leaf", "struct", "list", "array", "map", "enum"] if depth else ["leaf"])
    mask = pa.array([rng.random() < 0.3 for _ in range(count)], pa.bool_())
    ends = np.cumsum([0, *(rng.randrange(3) for _ in range(count))]).astype(np.int32)
    if kind == "struct":
        children = [nested(depth - 1, count, rng), leaf(rng.choice(LEAVES), count, rng)]
        return pa.StructArray.from_arrays(children, ["x", "y"], mask=mask)
    if kind == "list":
        values = nested(depth - 1, int(ends[-1]), rng)
        valid = bits([not each for each in mask.to_pylist()])
        buffers = [valid, pa.py_buffer(ends.tobytes())]
        return pa.Array.from_buffers(pa.list_(values.type), count, buffers, children=[values])
    if kind == "map":
        keys = pa.array(range(int(ends[-1])), pa.int64())
        return pa.MapArray.from_arrays(pa.array(ends), keys, nested(depth - 1, int(ends[-1]), rng))
    if kind == "array":
        return pa.FixedSizeListArray.from_arrays(nested(depth - 1, 2 * count, rng), 2, mask=mask)
    if kind == "enum":
        places = pa.array([rng.choice([0, 1, None]) for _ in range(count)], pa.int8())
        return pa.DictionaryArray.from_arrays(places, pa.array(["p", "q"]))
    return leaf(rng.choice(LEAVES), count, rng)


def sent(array):
    stream = io.BytesIO()
    schema = pa.schema([("a", array.type)])
    with pa.ipc.new_stream(stream, schema) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays([array], schema=schema))
    return stream.getvalue()


def test_the_search_finds_what_is_hidden():
    rng = random.Random(1)
    assert all(JUNK in sent(leaf(kind, 40, rng)) for kind in LEAVES if kind not in (pa.bool_(), pa.int8()))


def test_nothing_hidden_is_sent():
    rng = random.Random(2)
    for _ in range(1_000):
        array = nested(rng.randrange(4), rng.choice([0, 1, 2, 7, 8, 9, 40]), rng)
        if len(array) and rng.random() < 0.4:
            start = rng.randrange(len(array))
            array = array.slice(start, rng.randrange(len(array) - start + 1))
        bare = without_hidden(array)
        bare.validate(full=True)
        assert bare.to_pylist() == array.to_pylist(), array.type
        assert JUNK not in sent(bare), array.type


def test_unions_and_lists_as_duckdb_gives_them():
    union = "CASE i % 3 WHEN 0 THEN i::INT::UNION(n INT, s VARCHAR) WHEN 1 THEN ('s' || i)::UNION(n INT, s VARCHAR) END"
    with duckdb.connect() as con:
        con.execute("SET arrow_output_version = '1.4'; SET produce_arrow_string_view = true")
        con.execute("SET arrow_output_list_view = true")
        table = con.sql(f"SELECT {union}, [i, NULL], ['word number ' || i] FROM range(10) t(i)").to_arrow_table()
    for column in table.columns:
        array = column.combine_chunks()
        assert without_hidden(array).to_pylist() == array.to_pylist()


class Overheard(WriterProcess):
    """Keeps what the writer is told."""

    def __init__(self, where):
        super().__init__(where)
        said, write = b"", self._process.stdin.write

        def overhear(data):
            nonlocal said
            said += bytes(data)
            self.said = said
            return write(data)

        self._process.stdin = Telling(self._process.stdin, overhear)


class Telling:
    def __init__(self, file, write):
        self._file = file
        self.write = write

    def __getattr__(self, name):
        return getattr(self._file, name)


@pytest.mark.parametrize("ending", ["duckdb", "parquet"])
def test_what_is_hidden_in_nested_columns_stays_with_the_owner(ending, tmp_path, monkeypatch):
    """A table whose owner took values out by a mask, as Arrow does it: they are still there."""
    began = []
    started = lambda target: began.append(Overheard(f"target {str(target)!r}")) or began[-1]  # noqa: E731
    monkeypatch.setattr("ppdm_sql.publishing.release.writer_process", started)
    count = 3_000
    junk, gone = pa.py_buffer(count * JUNK), pa.py_buffer(bytes(count // 8 + 1))
    taken_out = pa.Array.from_buffers(pa.int64(), count, [gone, junk])
    every = pa.array(range(count + 1), pa.int32())
    source = pa.table({
        "id": range(count),
        "plain": taken_out,
        "struct": pa.StructArray.from_arrays([taken_out], ["x"]),
        "list": pa.ListArray.from_arrays(every, taken_out),
        "array": pa.FixedSizeListArray.from_arrays(taken_out, 1),
        "map": pa.MapArray.from_arrays(every, pa.array(range(count)), taken_out),
        "deep": pa.StructArray.from_arrays([pa.ListArray.from_arrays(every, taken_out)], ["x"]),
    })  # fmt: skip
    publish(source, {"table": "t", "identity": ["id"]}, to=tmp_path / f"r.{ending}", key=bytes(32))
    assert len(began[0].said) > 100_000
    assert JUNK not in began[0].said


def test_values_of_another_type_end_in_an_error(tmp_path):
    """The writer waits for rows; its owner must not wait for the writer."""
    with WriterProcess("target 'r.parquet'") as process:
        more = {"names": ["a"], "uuids": [], "compression": "zstd"}
        process.open("parquet", aside=str(tmp_path / "r.tmp"), **more)
        batches = iter([pa.record_batch({"c0": ["x"]})])
        with pytest.raises(TargetError, match=r"values do not fit its type \(ArrowInvalid\)"):
            process.send_rows(pa.schema([("c0", pa.int64())]), batches, order=[])
