"""Before anything is published: what a policy promises, what its counts will be worth, and what to change."""

from ppdm_sql.policy import load_policy
from ppdm_sql.privacy import UniformChannel, advise, count_error, highest_posterior, statements, states_error

POLICY = load_policy(
    """
table = "patients"

[columns.age]
mechanism = "uniform"
domain = { min = 0, max = 99 }
retain = 0.5

[columns.diagnosis]
mechanism = "uniform"
domain = { values = ["A", "B", "C", "D", "E"] }
retain = 0.5

[columns.cost]
mechanism = "uniform"
domain = { min = 0, max = 50000, step = 0.01 }
retain = 0.2
"""
)
ROWS = 300_000


def main() -> None:
    print("What was 10 % likely becomes at most:")
    for gamma in (2, 5, 9, 19, 171):
        print(f"  gamma {gamma:3}: {highest_posterior(gamma, 0.1):.1%}")

    print("\nA fine grid:")
    for sentence in statements(UniformChannel(retain=0.2, size=5_000_001)):
        print(f"  {sentence}")

    # Nothing 10 % likely may become 67.9 % likely, and counts shall be good to 1 % of the rows.
    advice = advise(POLICY, rows=ROWS, gamma=19, error=0.01)
    print("\nOf each column at most:")
    for column in advice.columns:
        print(f"  {column.name}: kept {column.retain:.2g}, error {column.error:.2%}, as asked: {column.both}")
        if column.remedies is not None:
            print(f"    would do: {column.remedies.domain}")

    print("\nStandard errors of counts by 1, 2 and 3 conditions, at a retention of 0.5:")
    for k in (1, 2, 3):
        print(f"  {k}: {count_error(ROWS, [0.5] * k, 0.5, 0.5):.3%} of the rows")
    exact = states_error([0.5, 0.5], [0.5, 0.5], [[140_000, 10_000], [10_000, 140_000]])
    print(f"  2 that are mostly met together: {exact:.3%}")


if __name__ == "__main__":
    main()
