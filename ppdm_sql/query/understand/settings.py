"""Settings an analyst makes with SET ppdm_...: how answers are computed and shown."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ppdm_sql.errors import SettingError

METHODS = ("auto", "inversion", "bayes")
ERRORS = ("off", "columns")


@dataclass(frozen=True)
class Settings:
    """`method` reconstructs, `confidence` is the coverage of intervals, `errors` adds columns for them.

    `portable` keeps to SQL that every engine knows; it is not for SET, but for statements that are compiled.
    """

    method: str = "auto"
    confidence: float = 0.95
    errors: str = "off"
    portable: bool = False

    def with_setting(self, name: str, value: str) -> Settings:
        """A copy with one setting changed.

        >>> Settings().with_setting("ppdm_method", "bayes").method
        'bayes'
        """
        name = name.lower()
        if name == "ppdm_method":
            return replace(self, method=_word(name, value, METHODS))
        if name == "ppdm_errors":
            return replace(self, errors=_word(name, value, ERRORS))
        if name == "ppdm_confidence":
            return replace(self, confidence=_confidence(value))
        raise SettingError(f"unknown setting {name!r}. Known: ppdm_method, ppdm_confidence, ppdm_errors.")

    def reset(self, name: str) -> Settings:
        """A copy with one setting back at its default."""
        default = getattr(Settings(), name.lower().removeprefix("ppdm_"), None)
        return self.with_setting(name, str(default))


def _word(name: str, value: str, words: tuple[str, ...]) -> str:
    if value.lower() not in words:
        raise SettingError(f"{name} = {value!r} must be one of {', '.join(words)}.")
    return value.lower()


def _confidence(value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 < number < 1:
        raise SettingError(f"ppdm_confidence = {value!r} must be a number between 0 and 1, such as 0.95.")
    return number
