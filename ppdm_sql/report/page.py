"""From contents to one HTML file; whatever stands on the page is escaped, and it replaces nothing by itself."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ppdm_sql import __version__
from ppdm_sql.errors import TargetError

ENDINGS = (".html", ".htm")


def unbroken(value: Any) -> Any:
    """Text whose numbers stay on one line with their signs; what was drawn or is markup already stays as it is.

    >>> unbroken("± 3 %") == "±\\u00a03\\u00a0%"
    True
    """
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return value.replace(" %", "\u00a0%").replace("± ", "±\u00a0")


def render(template: str, **contents: Any) -> str:
    """A template filled in."""
    environment = Environment(
        loader=PackageLoader("ppdm_sql.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=unbroken,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    source = environment.loader
    assert source is not None
    style = Markup(source.get_source(environment, "style.css")[0])  # noqa: S704 - our own file
    return environment.get_template(template).render(style=style, version=__version__, **contents)


def check_page(to: str | Path, *, replace: bool, inputs: list[Path]) -> Path:
    """The page's path if it may be written there; known before any work is done."""
    target, where = Path(to), f"page {str(to)!r}"
    if target.suffix.lower() not in ENDINGS:
        raise TargetError(f"{where}: a page's name ends with .html.")
    if not target.parent.is_dir():
        raise TargetError(f"{where}: the directory {str(target.parent)!r} does not exist. Make it first.")
    if target.is_dir():
        raise TargetError(f"{where} is a directory: name a file.")
    for path in inputs:
        with suppress(OSError):
            if path.samefile(target):
                raise TargetError(f"{where} is what the page is made from: name another file.")
    if target.exists() and not replace:
        raise TargetError(f"{where} is there already: name another file, or say --replace.")
    return target


def write_page(target: Path, text: str) -> None:
    """Put a whole page in place, or none."""
    aside = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    try:
        aside.write_text(text, encoding="utf-8")
        os.replace(aside, target)  # noqa: PTH105 - Path.replace says the same, less plainly
    except OSError as error:
        raise TargetError(f"page {str(target)!r} cannot be written: {error.strerror}.") from None
    finally:
        with suppress(OSError):
            aside.unlink(missing_ok=True)
