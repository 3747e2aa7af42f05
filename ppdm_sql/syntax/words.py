"""A statement's words from left to right, for a parser that says where it stopped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import NoReturn

import sqlglot
from sqlglot import Token, TokenType
from sqlglot.errors import SqlglotError

from ppdm_sql.errors import QueryError
from ppdm_sql.syntax.dialects import ANALYST

_NAME = re.compile(r"[^\W\d]\w*")
_STRINGS = (TokenType.STRING, TokenType.HEREDOC_STRING)
_OPENING, _CLOSING = ("(", "[", "{"), (")", "]", "}")


def tokens_of(sql: str) -> list[Token] | None:
    """The tokens of a text in DuckDB's dialect, None where a string, name or comment in it is never closed."""
    try:
        return list(sqlglot.tokenize(sql, dialect=ANALYST))
    except SqlglotError:
        return None


def place(sql: str, start: int) -> str:
    """Line and column of a position in the text.

    >>> place("SELECT 1", 7)
    'line 1, column 8'
    """
    line = sql.count("\n", 0, start) + 1
    return f"line {line}, column {start - sql.rfind(chr(10), 0, start)}"


class Words:
    """The tokens that are left of a statement; an error names the line and column."""

    def __init__(self, sql: str, tokens: Sequence[Token], stop: int | None = None) -> None:
        self.sql = sql
        self._tokens = tokens
        self._next = 0
        self._stop = len(tokens) if stop is None else stop

    @property
    def position(self) -> int:
        """Where the next token begins, or where the text ends."""
        return int(self._tokens[self._next].start) if self._next < len(self._tokens) else len(self.sql.rstrip())

    @property
    def place(self) -> str:
        """Line and column of the next token."""
        return place(self.sql, self.position)

    @property
    def ended(self) -> bool:
        """Whether nothing is left."""
        return self._next >= self._stop

    def fail(self, expected: str) -> NoReturn:
        """Raise: what should stand here, and what does."""
        found = "the statement ends" if self.ended else f"found {self._raw()[:40]}"
        raise QueryError(f"{self.place}: expected {expected}, {found}.")

    def follows(self, *words: str) -> bool:
        """Whether these words or signs come next; a quoted name or a string is neither."""
        return all(self._raw(offset).upper() == word for offset, word in enumerate(words))

    def take(self, *words: str) -> bool:
        """Go past these words if they come next."""
        if not self.follows(*words):
            return False
        self._next += len(words)
        return True

    def expect(self, *words: str) -> None:
        """Go past these words, which must come next."""
        if not self.take(*words):
            self.fail(" ".join(words))

    def choice(self, words: Sequence[str]) -> str:
        """Go past one of these words."""
        for word in words:
            if self.take(word):
                return word
        self.fail(f"{', '.join(words[:-1])} or {words[-1]}")

    def name(self, what: str) -> str:
        """A name, quoted or not."""
        token = None if self.ended else self._tokens[self._next]
        if token is None or not (token.token_type == TokenType.IDENTIFIER or _NAME.fullmatch(self._raw())):
            self.fail(what)
        self._next += 1
        return str(token.text)

    def names(self, what: str) -> tuple[str, ...]:
        """Names in parentheses, with commas between them."""
        self.expect("(")
        found = [self.name(what)]
        while self.take(","):
            found.append(self.name(what))
        self.expect(")")
        return tuple(found)

    def string(self, what: str) -> str:
        """A string."""
        text = self.string_if_any()
        if text is None:
            self.fail(what)
        return text

    def string_if_any(self) -> str | None:
        """A string, or None where something else comes next."""
        if self.ended or self._tokens[self._next].token_type not in _STRINGS:
            return None
        self._next += 1
        return str(self._tokens[self._next - 1].text)

    def number(self, what: str) -> int | Decimal:
        """A number; one without a point or an exponent is whole."""
        number = self.number_if_any()
        if number is None:
            self.fail(what)
        return number

    def number_if_any(self) -> int | Decimal | None:
        """A number with its sign, or None where something else comes next."""
        start, text = self._next, ""
        for sign in ("-", "+", "."):
            if self.take(sign):
                text += sign
        if not self.ended and self._tokens[self._next].token_type == TokenType.NUMBER:
            text += self._tokens[self._next].text
            self._next += 1
            try:
                return int(text) if text.lstrip("+-").isdigit() else Decimal(text)
            except InvalidOperation:
                pass
        self._next = start
        return None

    def last(self, word: str, following: str) -> int | None:
        """Index of the last such word that stands outside of all parentheses, with this sign behind it."""
        depth, found = 0, None
        for index in range(self._next, self._stop):
            raw = self._raw(index - self._next)
            depth += (raw in _OPENING) - (raw in _CLOSING)
            if depth == 0 and raw.upper() == word and self._raw(index - self._next + 1) == following:
                found = index
        return found

    def text_until(self, index: int) -> str:
        """What is written from here to a token, which comes next then."""
        begin, self._next = self.position, index
        return self.sql[begin : self.position].strip()

    def _raw(self, offset: int = 0) -> str:
        """A token as it is written, quotes included; nothing beyond the end."""
        index = self._next + offset
        if index >= self._stop:
            return ""
        token = self._tokens[index]
        return self.sql[token.start : token.end + 1]
