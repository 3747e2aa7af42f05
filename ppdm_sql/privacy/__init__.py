"""What a channel tells of the values behind it, and what answers it costs.

For a column, a row and any matrix of transition probabilities: amplification, breaches, posteriors, information. Before
a release: the error that counts will have. Knows nothing of SQL.
"""

from ppdm_sql.privacy.accuracy import (
    count_error,
    retention_for_error,
    row_variance,
    rows_for_error,
    states_error,
)
from ppdm_sql.privacy.advice import Advice, ColumnAdvice, advise
from ppdm_sql.privacy.amplification import epsilon, epsilon_of_row, gamma_of_row
from ppdm_sql.privacy.bounds import bound_error, bound_rows, condition_number, likely_error
from ppdm_sql.privacy.breaches import excludes_breach, highest_posterior, lowest_posterior
from ppdm_sql.privacy.channel import (
    Amplifying,
    Channel,
    MatrixChannel,
    RetentionChannel,
    UniformChannel,
    channel_of,
)
from ppdm_sql.privacy.gaussian import (
    Attack,
    corner_wave,
    distortion,
    distortion_if_independent,
    linear_attack,
    magnitude_for_distortion,
)
from ppdm_sql.privacy.growth import gamma_for_growth, largest_growth, prior_that_grows_most
from ppdm_sql.privacy.information import (
    information_of_breach,
    inverse_output_information,
    inverse_worst_case_information,
    mutual_information,
    output_information,
    worst_case_information,
)
from ppdm_sql.privacy.posterior import best_guesses, guess_rate, output_distribution, posterior, property_posterior
from ppdm_sql.privacy.remedies import Remedies
from ppdm_sql.privacy.statements import statements
from ppdm_sql.privacy.subsets import (
    excludes_subset_breach,
    identity_posterior,
    identity_safe_prior,
    safe_prior,
    safe_relative_prior,
    safe_relative_prior_of_row,
    safe_retention,
    safe_retention_of_row,
    seen_posterior,
)

__all__ = [
    "Advice",
    "Amplifying",
    "Attack",
    "Channel",
    "ColumnAdvice",
    "MatrixChannel",
    "Remedies",
    "RetentionChannel",
    "UniformChannel",
    "advise",
    "best_guesses",
    "bound_error",
    "bound_rows",
    "channel_of",
    "condition_number",
    "corner_wave",
    "count_error",
    "distortion",
    "distortion_if_independent",
    "epsilon",
    "epsilon_of_row",
    "excludes_breach",
    "excludes_subset_breach",
    "gamma_for_growth",
    "gamma_of_row",
    "guess_rate",
    "highest_posterior",
    "identity_posterior",
    "identity_safe_prior",
    "information_of_breach",
    "inverse_output_information",
    "inverse_worst_case_information",
    "largest_growth",
    "likely_error",
    "linear_attack",
    "lowest_posterior",
    "magnitude_for_distortion",
    "mutual_information",
    "output_distribution",
    "output_information",
    "posterior",
    "prior_that_grows_most",
    "property_posterior",
    "retention_for_error",
    "row_variance",
    "rows_for_error",
    "safe_prior",
    "safe_relative_prior",
    "safe_relative_prior_of_row",
    "safe_retention",
    "safe_retention_of_row",
    "seen_posterior",
    "statements",
    "states_error",
    "worst_case_information",
]
