"""`PERTURB (age UNIFORM RETAIN 0.3 DOMAIN (17 TO 90), ..)` as the mapping that the same policy has in TOML."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from typing import Any

from ppdm_sql.errors import PolicyError, QueryError
from ppdm_sql.mechanisms.base import NULL_RULES, OUTSIDE_RULES
from ppdm_sql.mechanisms.registry import MECHANISMS
from ppdm_sql.policy import load_policy
from ppdm_sql.syntax.words import Words

_KEEPING = ("retain", "gamma", "epsilon", "privacy")
_MECHANISMS = f"{', '.join(name.upper() for name in MECHANISMS)} or DROP"
_MOMENTS = (("TIMESTAMP", "WITH", "TIME", "ZONE"), ("TIMESTAMPTZ",), ("TIMESTAMP",), ("DATE",))
_VALUE = "a value: a number, 'text', TRUE, FALSE, DATE '..' or TIMESTAMP '..'"


def columns_of(words: Words) -> dict[str, dict[str, Any]]:
    """What the clause says of each column; each is checked by itself, so that an error can name its place."""
    words.expect("PERTURB", "(")
    columns: dict[str, dict[str, Any]] = {}
    while True:
        where = words.place
        name = words.name("the name of a column")
        if name.casefold() in (known.casefold() for known in columns):
            raise PolicyError(f"{where}: column {name!r} is named twice in PERTURB (names do not depend on case).")
        columns[name] = _column(words, where, name)
        if not words.take(","):
            break
    words.expect(")")
    return columns


def _column(words: Words, where: str, name: str) -> dict[str, Any]:
    body: dict[str, Any] = {"mechanism": words.name(f"a mechanism, {_MECHANISMS}").lower()}
    while (option := next((each for each in _OPTIONS if words.follows(each)), None)) is not None:
        key, here = option.lower(), words.place
        if key in body:
            raise QueryError(f"{here}: {option} stands twice for column {name!r}: remove one.")
        words.expect(option)
        body[key] = _READERS[key](words)
    if not (words.follows(",") or words.follows(")")):
        words.fail(f"one of {', '.join(_options(body['mechanism']))}, a comma or a closing parenthesis")
    if "step" in body and not _has_step(body["mechanism"]):
        if "domain" not in body:
            raise QueryError(f"{where}: column {name!r} has a STEP and no DOMAIN: write DOMAIN (0 TO 1) STEP 0.01.")
        body["domain"]["step"] = body.pop("step")
    if body["mechanism"] == "uniform":
        _check_whole(where, name, body)
    try:
        load_policy({"table": "any", "columns": {name: body}})
    except PolicyError as error:
        raise PolicyError(f"{where}: {error}") from None
    return body


def _has_step(mechanism: str) -> bool:
    """Whether a STEP is the mechanism's own; else it belongs to the domain."""
    return mechanism in MECHANISMS and "step" in MECHANISMS[mechanism].keys


def _options(mechanism: str) -> list[str]:
    """The options that a mechanism takes, all of them where there is none of this name."""
    if mechanism not in MECHANISMS:
        return list(_OPTIONS)
    keys = MECHANISMS[mechanism].keys
    return [option for option in _OPTIONS if option.lower() in keys or (option == "STEP" and "domain" in keys)]


def _check_whole(where: str, name: str, body: dict[str, Any]) -> None:
    """What is most often forgotten, told in SQL's own words."""
    if "domain" not in body:
        raise PolicyError(
            f"{where}: column {name!r} has no DOMAIN. Declare it, DOMAIN (17 TO 90) or DOMAIN ('a', 'b'): it is never "
            "read off the data, whose own range is a disclosure."
        )
    said = [key.upper() for key in _KEEPING if key in body]
    if len(said) != 1:
        problem = "says nothing of how much is kept" if not said else f"says it twice ({', '.join(said)})"
        raise PolicyError(
            f"{where}: column {name!r} {problem}: write exactly one of RETAIN 0.3, GAMMA 9, EPSILON 2.2, "
            "PRIVACY (0.1 TO 0.5)."
        )


def _domain(words: Words) -> dict[str, Any]:
    words.expect("(")
    first = _value(words)
    if words.take("TO"):
        domain = {"min": first, "max": _value(words)}
    else:
        domain = {"values": [first]}
        while words.take(","):
            domain["values"].append(_value(words))
    words.expect(")")
    return domain


def _replace(words: Words) -> dict[str, Any]:
    """`REPLACE ('Sales' 3, 'Tech' 1, NULL 1)`: values and their weights."""
    words.expect("(")
    body: dict[str, Any] = {"values": [], "weights": []}
    while True:
        if words.take("NULL"):
            body["null"] = words.number("a weight, as in NULL 1")
        else:
            body["values"].append(_value(words))
            body["weights"].append(words.number("a weight, as in 'Sales' 3"))
        if not words.take(","):
            break
    words.expect(")")
    return body


def _value(words: Words) -> Any:
    if words.take("TRUE"):
        return True
    if words.take("FALSE"):
        return False
    for kind in _MOMENTS:
        if words.take(*kind):
            return _moment(words, kind[0] == "DATE")
    number = words.number_if_any()
    return words.string(_VALUE) if number is None else number


def _moment(words: Words, day: bool) -> date | datetime:
    where = words.place
    text = words.string("a date in quotes")
    try:
        return date.fromisoformat(text) if day else datetime.fromisoformat(text)
    except ValueError:
        form = "DATE '1930-01-01'" if day else "TIMESTAMP '1930-01-01 12:00:00'"
        raise PolicyError(f"{where}: {text!r} is not a {'date' if day else 'time'}: write it as {form}.") from None


def _step(words: Words) -> Any:
    words.take("INTERVAL")
    text = words.string_if_any()
    return words.number("a step, such as 0.01 or '1 hour'") if text is None else text


def _privacy(words: Words) -> dict[str, Any]:
    words.expect("(")
    low = words.number("a number, as in PRIVACY (0.1 TO 0.5)")
    words.expect("TO")
    high = words.number("a number, as in PRIVACY (0.1 TO 0.5)")
    words.expect(")")
    return {"rho1": low, "rho2": high}


def _covariance(words: Words) -> Any:
    """`INDEPENDENT`, `DATA`, or `(age 225, wage 5000)`: the covariances with these columns, its own among them."""
    if not words.take("("):
        return words.choice(("INDEPENDENT", "DATA", "(age 225, ..)")).lower()
    entries: dict[str, Any] = {}
    while True:
        where = words.place
        name = words.name("the name of a column")
        if name in entries:
            raise QueryError(f"{where}: COVARIANCE has {name!r} twice: remove one.")
        entries[name] = words.number("a covariance, as in (age 225, wage 5000)")
        if not words.take(","):
            break
    words.expect(")")
    return entries


def _number(words: Words) -> Any:
    return words.number("a number")


_READERS: dict[str, Callable[[Words], Any]] = {
    "retain": _number,
    "gamma": _number,
    "epsilon": _number,
    "privacy": _privacy,
    "domain": _domain,
    "step": _step,
    "replace": _replace,
    "noise": _number,
    "deviation": _number,
    "covariance": _covariance,
    "part": lambda words: words.name("the name of the column that says which part a row is in"),
    **dict.fromkeys(("max_size", "rho", "itemsets"), _number),
    "compress": lambda words: True,
    "nulls": lambda words: words.choice([rule.upper() for rule in NULL_RULES]).lower(),
    "outside": lambda words: words.choice([rule.upper() for rule in OUTSIDE_RULES]).lower(),
}
_OPTIONS = tuple(key.upper() for key in _READERS)
