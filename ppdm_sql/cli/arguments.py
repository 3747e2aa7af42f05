"""What can be typed: commands, their arguments and help texts. Imports nothing heavy, so that --help is quick."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NoReturn

from ppdm_sql import __version__
from ppdm_sql.cli import notices

DESCRIPTION = "Release tables with randomly perturbed columns, and ask them ordinary SQL."
EPILOG = "ppdm-sql COMMAND --help tells more about a command."


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line; the usage is a --help away."""

    def error(self, message: str) -> NoReturn:
        """End with code 2."""
        notices.say(f"{message} (see {self.prog} --help)")
        raise SystemExit(2)


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command and its arguments; SystemExit after --help and for what cannot be understood."""
    return _parser().parse_args(argv)


def _parser() -> Parser:
    parser = Parser(prog=notices.NAME, description=DESCRIPTION, epilog=EPILOG, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    demo = _command(commands, "demo", "the whole story on made-up data, with the truth beside each answer")
    demo.add_argument("--rows", type=_rows, default=200_000, metavar="N", help="people to make up (200000)")
    demo.add_argument("--to", default="ppdm-demo", metavar="DIR", help="folder for the files (ppdm-demo)")

    publish = _command(commands, "publish", "perturb a table as its policy says and write the release")
    publish.add_argument("source", metavar="SOURCE", help="a Parquet or CSV file, a pattern, or file.duckdb::table")
    publish.add_argument("--policy", required=True, metavar="P", help="the policy, a TOML file")
    publish.add_argument("--to", required=True, metavar="RELEASE", help="the release, *.duckdb or *.parquet")
    publish.add_argument("--key", required=True, metavar="K", help="the secret key's file, made where there is none")
    publish.add_argument("--level", metavar="NAME", help="the recipient, one of the policy's [levels]")
    publish.add_argument("--replace", action="store_true", help="replace a release that is already there")
    publish.add_argument(
        "--adopt",
        action="append",
        default=[],
        metavar="FILE=P",
        help="a copy released before without this key, and its retention; or FILE=age:0.4,wage:0.25, what each column "
        "has, a retention or noise",
    )
    publish.add_argument(
        "--independent", action="store_true", help="publish although an earlier release cannot be coupled with this one"
    )
    publish.add_argument("--sign", metavar="S", help="the private signing key: writes a signature beside the release")

    query = _command(commands, "query", "ask a release; the answers are estimates for the original table")
    _release_and_sql(query)
    query.add_argument(
        "--method", choices=("auto", "inversion", "bayes"), default="auto", help="how answers are reconstructed (auto)"
    )
    query.add_argument("--confidence", type=float, metavar="C", help="how often intervals hold the truth (0.95)")
    query.add_argument(
        "--format", choices=("table", "csv", "json"), default="table", help="how rows are written (table)"
    )
    query.add_argument("--errors", action="store_true", help="add the interval's ends after each estimate")
    _verified(query)

    explain = _command(commands, "explain", "what a query will do, what a release holds, what a policy promises")
    explain.add_argument("target", metavar="RELEASE", help="a release, or a policy (*.toml)")
    explain.add_argument("sql", metavar="SQL", nargs="?", help="a SELECT to explain; - reads it from stdin")
    explain.add_argument("--dialect", help="the answer as one statement for another engine: spark, postgres, ..")
    _verified(explain)

    _advise(_command(commands, "advise", "what a policy can keep under a promise, and how good counts will be"))

    shell = _command(commands, "shell", "a prompt that answers SQL on a release")
    shell.add_argument("release", metavar="RELEASE", help="a release, *.duckdb or *.parquet")
    _verified(shell)

    _report(_command(commands, "report", "one page on what a policy or a release protects, and what it costs"))
    _attack(_command(commands, "attack", "what the best guess of every row gets right, against the original"))
    _mine(_command(commands, "mine", "decision trees, itemsets and rules from a release, built on answers alone"))

    levels = _command(commands, "levels", "what a key has released, from the ledger beside it")
    levels.add_argument("key", metavar="K", help="the secret key's file")

    keygen = _command(commands, "keygen", "write a fresh secret key")
    keygen.add_argument("file", metavar="FILE", help="a file that does not exist yet")
    keygen.add_argument(
        "--signing", action="store_true", help="a signing key instead, with its public key beside it, *.pub"
    )

    sign = _command(commands, "sign", "sign a release as it is, with all that is in it")
    sign.add_argument("release", metavar="RELEASE", help="a release, *.duckdb or *.parquet, or a pattern of the latter")
    sign.add_argument("--sign", required=True, metavar="S", help="the private signing key")
    return parser


def _verified(parser: Parser) -> None:
    parser.add_argument("--verify", metavar="PUB", help="refuse a release that this public key's owner has not signed")


def _report(report: Parser) -> None:
    report.add_argument("target", metavar="RELEASE", help="a release, or a policy (*.toml)")
    report.add_argument("-o", "--output", required=True, metavar="PAGE", help="the page, *.html")
    report.add_argument("--source", metavar="T", help="the original: adds true answers, guesses and an audit")
    report.add_argument("--level", metavar="NAME", help="one of a policy's levels")
    report.add_argument("--ledger", metavar="L", help="a key's ledger: adds up what its releases tell together")
    report.add_argument("--rows", type=_whole, metavar="N", help="rows of a policy's table, without --source (100000)")
    report.add_argument("--table", metavar="NAME", help="which table, where a release holds several")
    report.add_argument("--replace", action="store_true", help="write over a page that is already there")
    _verified(report)


def _attack(attack: Parser) -> None:
    attack.add_argument("releases", metavar="RELEASE", nargs="+", help="releases of one table, *.duckdb or *.parquet")
    attack.add_argument("--source", required=True, metavar="T", help="the original, as publish takes it")
    attack.add_argument("--table", metavar="NAME", help="which table, where a release holds several")
    attack.add_argument(
        "--prior",
        choices=("source", "release"),
        default="source",
        help="how the guesser knows how common values are (source); on a fine grid, who knows a release alone is right "
        "far less often than believed",
    )
    attack.add_argument("--format", choices=("text", "json"), default="text", help="how the outcome is written (text)")
    attack.add_argument("--plot", metavar="PAGE", help="draw the outcome, too: a page, *.html")
    attack.add_argument("--replace", action="store_true", help="write over a page that is already there")
    _verified(attack)


def _command(commands: argparse._SubParsersAction[Parser], name: str, text: str) -> Parser:
    return commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.", allow_abbrev=False)


def _mine(parser: Parser) -> None:
    kinds = parser.add_subparsers(dest="kind", metavar="KIND", required=True)
    tree = _command(kinds, "tree", "a decision tree that tells the classes of a column apart")
    tree.add_argument("release", metavar="RELEASE", help="a release, *.duckdb or *.parquet")
    tree.add_argument("--target", required=True, metavar="COLUMN", help="the column with the classes")
    tree.add_argument("--table", metavar="NAME", help="the released table, where there are several")
    tree.add_argument("--features", nargs="+", metavar="COLUMN", help="the columns to split on (all others)")
    tree.add_argument("--depth", type=int, default=5, metavar="N", help="the most splits from root to leaf (5)")
    tree.add_argument("--criterion", choices=("gini", "entropy"), default="gini", help="how purity is measured (gini)")
    tree.add_argument("--format", choices=("text", "sql", "json", "svg"), default="text", help="how it is shown (text)")
    tree.add_argument("-o", "--output", metavar="FILE", help="write it there instead of printing it")
    tree.add_argument("--replace", action="store_true", help="write over a file that is already there")
    _verified(tree)
    itemsets = _command(kinds, "itemsets", "the itemsets that many baskets hold, as far as can be told")
    _of_baskets(itemsets)
    rules = _command(kinds, "rules", "which items go with which, in baskets")
    _of_baskets(rules)
    rules.add_argument(
        "--min-confidence", type=float, default=0.5, metavar="C", help="the share of baskets a rule holds for (0.5)"
    )


def _of_baskets(parser: Parser) -> None:
    parser.add_argument("release", metavar="RELEASE", help="a release, *.duckdb or *.parquet")
    parser.add_argument("--table", metavar="NAME", help="the released table, where there are several")
    parser.add_argument("--column", metavar="COLUMN", help="the column of baskets, where there are several")
    parser.add_argument("--min-support", type=float, required=True, metavar="S", help="the share of all baskets")
    parser.add_argument("--all", action="store_true", help="also what passes by its estimate alone (certain ones only)")
    parser.add_argument("--max-items", type=int, default=3, metavar="N", help="items of the largest itemsets (3)")
    parser.add_argument(
        "--confidence", type=float, default=0.95, metavar="C", help="how often intervals hold the truth (0.95)"
    )
    parser.add_argument(
        "--format", choices=("table", "csv", "json"), default="table", help="how rows are written (table)"
    )
    _verified(parser)


def _advise(parser: Parser) -> None:
    parser.add_argument("policy", metavar="POLICY", help="the policy, a TOML file")
    parser.add_argument("--rows", type=int, required=True, metavar="N", help="the number of rows to be published")
    privacy = parser.add_argument_group("privacy asked for, of each column")
    privacy.add_argument("--rho1", type=float, metavar="R", help="what was at most this likely ..")
    privacy.add_argument("--rho2", type=float, metavar="R", help=".. never gets as likely as this")
    privacy.add_argument("--gamma", type=float, metavar="G", help="or: the largest amplification")
    privacy.add_argument("--epsilon", type=float, metavar="E", help="or: its natural logarithm")
    privacy.add_argument(
        "--distortion", type=float, metavar="D", help="of noise: the square error left to guesses, of 1"
    )
    privacy.add_argument("--whole-row", action="store_true", help="of the row as a whole: split over its columns")
    accuracy = parser.add_argument_group("accuracy asked for")
    accuracy.add_argument("--error", type=float, metavar="E", help="the standard error of counts, a share of the rows")
    accuracy.add_argument("--predicates", type=int, default=1, metavar="K", help="counts by so many conditions (1)")
    accuracy.add_argument(
        "--selectivity", type=float, default=0.5, metavar="S", help="what each holds for, of domain and rows (0.5)"
    )
    parser.add_argument("--source", metavar="T", help="the original: small domains by the shares that its values have")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how it is written (text)")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the policy with the advised retentions there")
    parser.add_argument("--replace", action="store_true", help="replace a file that is already there")


def _release_and_sql(parser: Parser) -> None:
    parser.add_argument("release", metavar="RELEASE", help="a release, *.duckdb or *.parquet")
    parser.add_argument("sql", metavar="SQL", help="statements; the last one's rows are shown. - reads stdin")


def _rows(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if not 1_000 <= number <= 10_000_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1000 to 10000000")
    return number


def _whole(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)
