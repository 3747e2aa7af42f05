"""Every property of a small domain, under many priors: what no formula is needed for."""

from __future__ import annotations

import itertools

import numpy as np

from ppdm_sql.privacy import MatrixChannel, RetentionChannel, UniformChannel

Array = np.ndarray


def properties(size: int) -> Array:
    """All sets of values but the empty and the whole one; shape (2^size - 2, size), of 0 and 1."""
    return np.array(list(itertools.product((0, 1), repeat=size))[1:-1], dtype=float)


def priors(rng: np.random.Generator, size: int, count: int) -> Array:
    """Priors of all shapes: even ones, ones with all their weight on a few values, ones that know almost everything."""
    shapes = [rng.dirichlet(np.full(size, alpha), count // 4) for alpha in (5.0, 1.0, 0.2, 0.05)]
    drawn = np.maximum(np.concatenate(shapes), 1e-9)  # a tiny weight where the draw rounded to none
    return drawn / drawn.sum(axis=1, keepdims=True)


def channels(rng: np.random.Generator, inputs: int, outputs: int, count: int) -> Array:
    """Random matrices of transition probabilities, all of them positive; shape (count, inputs, outputs)."""
    drawn = rng.dirichlet(np.full(outputs, 0.7), (count, inputs)) + 1e-3
    return drawn / drawn.sum(axis=2, keepdims=True)


def retaining_channels(rng: np.random.Generator, size: int) -> list[UniformChannel | RetentionChannel]:
    """One with even draws, one with uneven ones."""
    return [
        UniformChannel(rng.uniform(0.05, 0.9), size),
        RetentionChannel(rng.uniform(0.05, 0.9), rng.dirichlet(np.full(size, 2.0))),
    ]


def some_channels(rng: np.random.Generator, size: int) -> list[UniformChannel | RetentionChannel | MatrixChannel]:
    """Of every kind; the matrices have one output more than inputs."""
    return [*retaining_channels(rng, size), *(MatrixChannel(m) for m in channels(rng, size, size + 1, 3))]


def beliefs(prior: Array, matrix: Array, sets: Array) -> tuple[Array, Array]:
    """Of each prior and each property: its probability, and its posterior for every output.

    Shapes (priors, properties) and (priors, properties, outputs).
    """
    seen = prior @ matrix
    joint = np.einsum("bx,xy,qx->bqy", prior, matrix, sets)
    return prior @ sets.T, joint / seen[:, None, :]
