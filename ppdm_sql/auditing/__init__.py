"""What an adversary gets out of a release, measured against the original.

`attack` guesses every row of releases that are there; `audit` looks in the original for what no formula sees. Both are
for the publisher, who has the original; what they return are counts and shares, never a row.
"""

from ppdm_sql.auditing.findings import Audit, audit
from ppdm_sql.auditing.guessing import attack
from ppdm_sql.auditing.scores import Attack, BasketAttack, ColumnAttack, NumberAttack, Score

__all__ = ["Attack", "Audit", "BasketAttack", "ColumnAttack", "NumberAttack", "Score", "attack", "audit"]
