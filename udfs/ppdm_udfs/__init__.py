"""Perturbation kernels: arrays, public parameters and a secret key in, arrays out.

Nothing here knows a policy, a file or an engine, so that DuckDB, Parquet streams and Spark executors give the same
values for the same key.
"""

from ppdm_udfs.baskets import Randomized, SelectASize, SizeOperator, randomize
from ppdm_udfs.bridge import Gap, bridge
from ppdm_udfs.codes import Code, code_for
from ppdm_udfs.coins import KeyedRows, keyed_rows
from ppdm_udfs.domain import Grid, Values, decode, encode
from ppdm_udfs.duckdb_functions import register
from ppdm_udfs.errors import KernelError, NullFound, OutsideDomain, RowError
from ppdm_udfs.gaussian import Gaussian, Step, add_noise, factor, joint_noise, joint_parameters, noised
from ppdm_udfs.identity import position_blocks, row_blocks
from ppdm_udfs.keys import coin_fingerprint, subkey
from ppdm_udfs.motion import motions
from ppdm_udfs.noise_bridge import NoiseGap, noise_between
from ppdm_udfs.parts import Assignment, perturb_parts
from ppdm_udfs.swap import dealing, swapped_rows
from ppdm_udfs.uniform import Uniform, perturb, perturb_indices
from ppdm_udfs.weighted import Weighted

__all__ = [
    "Assignment",
    "Code",
    "Gap",
    "Gaussian",
    "Grid",
    "KernelError",
    "KeyedRows",
    "NoiseGap",
    "NullFound",
    "OutsideDomain",
    "Randomized",
    "RowError",
    "SelectASize",
    "SizeOperator",
    "Step",
    "Uniform",
    "Values",
    "Weighted",
    "add_noise",
    "bridge",
    "code_for",
    "coin_fingerprint",
    "dealing",
    "decode",
    "encode",
    "factor",
    "joint_noise",
    "joint_parameters",
    "keyed_rows",
    "motions",
    "noise_between",
    "noised",
    "perturb",
    "perturb_indices",
    "perturb_parts",
    "position_blocks",
    "randomize",
    "register",
    "row_blocks",
    "subkey",
    "swapped_rows",
]
