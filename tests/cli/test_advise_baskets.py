from __future__ import annotations

from ppdm_sql.cli.main import main

POLICY = """
table = "baskets"
[columns.items]
mechanism = "select_a_size"
domain = { min = 0, max = 999 }
privacy = { rho1 = 0.05, rho2 = 0.5 }
max_size = 5
"""


def test_baskets_show_their_lowest_discoverable_supports(tmp_path, capsys):
    path = tmp_path / "policy.toml"
    path.write_text(POLICY)
    assert main(["advise", str(path), "--rows", "5000000"]) == 0
    lines = capsys.readouterr().out.splitlines()
    row = next(line for line in lines if line.startswith("5 "))
    assert [cell.strip() for cell in row.split("|")] == ["5", "51 %", "0.476 %", "0.486 %", "0.496 %"]
    assert any("if all 5,000,000 baskets had as many items" in line for line in lines)
