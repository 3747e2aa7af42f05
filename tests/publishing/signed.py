"""Signed releases for tests, with keys that are the same in each run."""

from __future__ import annotations

import pyarrow as pa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

import ppdm_sql
from ppdm_sql.publishing import publish

SECRET = bytes(range(1, 33))
SIGNER = Ed25519PrivateKey.from_private_bytes(SECRET)
PUBLIC = SIGNER.public_key()
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(range(2, 34)))
SOURCE = pa.table({"id": range(500), "x": [i % 10 for i in range(500)]})
COLUMN = {"mechanism": "uniform", "domain": {"min": 0, "max": 9}, "retain": 0.5}
KEY = bytes(range(32))
KINDS = ["r.duckdb", "r.parquet"]


def released(path, table="t", source=SOURCE, **more):
    policy = {"table": table, "identity": ["id"], "columns": {"x": COLUMN}}
    return publish(source, policy, to=path, **{"key": KEY, "sign": SIGNER} | more)


def pem(key):
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def public_pem(key):
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def rows(path, verify=PUBLIC, table="t", **more):
    with ppdm_sql.connect(path, verify=verify, **more) as con:
        return con.execute(f"SELECT count(*), sum(id) FROM {table}").fetchall()


WHOLE = [(500, 124_750)]
