"""Estimate the original state counts from the perturbed ones, with their errors; arrays in, arrays out.

Two estimates of the same tensor of counts, shape (..., m_1, .., m_k), leading axes being groups:

- ``invert`` is unbiased, may be negative, and is linear: ``invert_adjoint`` gives the weight of each observed row,
  ``linear_variance`` the error. Right for one number, and for what is summed or averaged later.
- ``solve`` is the maximum of the likelihood, the limit of the paper's iterative Bayes. Never negative and far better
  for a whole distribution; ``bayes_errors`` gives its error by drawing the release again.
"""

from ppdm_sql.reconstruct.bayes import solve
from ppdm_sql.reconstruct.errors import linear_variance
from ppdm_sql.reconstruct.inversion import adjoint, forward, invert, invert_adjoint
from ppdm_sql.reconstruct.likelihood import Fit, bayes_step, gap, iterate
from ppdm_sql.reconstruct.replicates import bayes_errors, replicate

__all__ = [
    "Fit",
    "adjoint",
    "bayes_errors",
    "bayes_step",
    "forward",
    "gap",
    "invert",
    "invert_adjoint",
    "iterate",
    "linear_variance",
    "replicate",
    "solve",
]
