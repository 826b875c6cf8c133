"""Parse errors of `.sq` files in words: what was found, what may stand there, what was probably meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from sassql.errors import PatternError, Place
from sassql.isa import signatures

HEADER_WORDS = ("title", "about", "arch", "scope", "tags", "see")

ITEM_WORDS = ("motif", "class", "classify", "test")

STATEMENT_WORDS = (
    *("for", "loop", "chain", "either", "opt", "no", "every", "flow", "slice", "path", "use"),
    *("where", "emit", "key"),
)

_BEGINNINGS = (*STATEMENT_WORDS, *HEADER_WORDS, *ITEM_WORDS)
_RELATIONS = (
    *("before", "dom", "pdom", "sameblock", "via", "max"),
    *("expect", "priority", "when", "from", "todo"),
)

_WORDS = {
    "VALUE": "a value (`%x`)",
    "INTEGER": "an integer (`#n`)",
    "PLACE": "an address (`&A`)",
    "IDENT": "a name",
    "OPNAME": "an opcode",
    "CLASS": "a class (`<add>`)",
    "REGISTER": "a register",
    "NUMBER": "a number",
    "STRING": "a string",
    "LISTING": "a listing (`{{ … }}`)",
    "ARCH": "an architecture (`sm_90`)",
    "LOOP": "a loop name (one capital letter)",
    "COMPARE": "a comparison",
    "STEP": "`/=`, `*=`, `+=` or `-=`",
    "SUFFIX": "a modifier or attribute",
    "ABSENT": "a modifier",
    "MODIFIER": "a modifier",
    "REGEX": "a regular expression (`/…/`)",
    "_SEP": "the end of the statement",
    "$END": "the end of the file",
    "NOT": "`!`",
    "AT": "a guard (`@`)",
    "__SIGN": "a sign",
}
_SYMBOLS = {
    **{"LPAR": "(", "RPAR": ")", "LBRACE": "{", "RBRACE": "}", "LSQB": "[", "RSQB": "]", "COMMA": ","},
    **{"EQUAL": "=", "VBAR": "|", "COLON": ":", "PLUS": "+", "MINUS": "-", "TIMES": "*", "DIVIDE": "/"},
    **{"SEMI": ";", "ANYTHING": "any", "WILDCARD": "_"},
}
_MINOR = frozenset(
    (
        "SIGN",
        "SPECIAL",
        "WORD",
        "SPACE",
        "LABEL",
        "RELOC",
        "ROLE",
        "WILDCARD",
        "ABSENT",
        "REGISTER",
        "_NEWLINE",
    )
)
"""Alternatives that a message leaves out: they make it longer and nobody forgot one of them."""

_OPERATORS = frozenset(
    ("PLUS", "MINUS", "TIMES", "DIVIDE", "COMPARE", "AND", "OR", "IN", "MATCHES", "SUFFIX", "LPAR")
)

_MOST_ALTERNATIVES = 7


def explain(error: UnexpectedInput, text: str, file: str, spellings: dict[str, str]) -> PatternError:
    """A parse error of lark as a PatternError; ``spellings`` has the keywords by terminal name."""
    lines = text.splitlines() or [""]
    line, column, found = _where(error, lines)
    allowed = _allowed(error)
    source = lines[line - 1] if line <= len(lines) else ""
    hint = _special(source[: column - 1], found, allowed, lines) or _suggestion(
        source, column, found, [spellings[name] for name in allowed if name in spellings]
    )
    message = f"unexpected {_quoted(found)}; {_expectation(allowed, spellings)}"
    return PatternError(message, place=Place(file, line, column), hint=hint, source_line=source)


def _where(error: UnexpectedInput, lines: list[str]) -> tuple[int, int, str]:
    if isinstance(error, UnexpectedToken) and error.token.type != "$END":
        found = "end of line" if error.token.type == "_SEP" and error.token != ";" else str(error.token)
        return error.token.line or 1, error.token.column or 1, found
    if isinstance(error, UnexpectedCharacters):
        rest = lines[error.line - 1][error.column - 1 :] if error.line <= len(lines) else ""
        word = re.match(r"[%#&]?\w+|\S", rest)
        return error.line, error.column, word[0] if word else rest[:1]
    last = max((n for n, line in enumerate(lines, 1) if line.strip()), default=1)
    return last, len(lines[last - 1].rstrip()) + 1, "end of file"


def _allowed(error: UnexpectedInput) -> list[str]:
    """Terminals that would have been legal; exact where lark can try them."""
    tried = getattr(error, "interactive_parser", None)
    if tried is not None:
        found: Iterable[str] = tried.accepts()
    else:
        found = getattr(error, "expected", None) or getattr(error, "allowed", None) or ()
    return sorted(str(name) for name in found)


def _quoted(found: str) -> str:
    return found if found.startswith("end of ") else f"`{found.splitlines()[0] if found else found}`"


def _expectation(allowed: list[str], spellings: dict[str, str]) -> str:
    """The legal continuations, most telling first."""
    if "OPNAME" in allowed and "WHERE" in allowed:
        closing = " or `}`" if "RBRACE" in allowed else ""
        return f"expected a statement{closing}"
    if {"COLON", "BEFORE"} <= set(allowed):
        return (
            "expected `:` behind a label, the value of a header word, or `before`, `dom`, `pdom`, `sameblock`"
        )
    if "MOTIF" in allowed and "TEST" in allowed and len(allowed) < 12:
        before = [name for name in allowed if spellings.get(name) not in ITEM_WORDS and name != "$END"]
        return _list([*_in_words(before, spellings), "the next item (`motif`, `class`, `classify`, `test`)"])
    if {"PLUS", "MINUS", "AND"} <= set(allowed):
        rest = [name for name in allowed if name not in _OPERATORS]
        return _list(["an operator", *_in_words(rest, spellings)])
    return _list(_in_words(allowed, spellings))


def _in_words(names: list[str], spellings: dict[str, str]) -> list[str]:
    words: dict[str, None] = {}
    for name in names:
        if name in _MINOR:
            continue
        if name in _WORDS:
            words[_WORDS[name]] = None
        else:
            words[f"`{_SYMBOLS.get(name) or spellings.get(name, name)}`"] = None
    return list(words)


def _list(words: list[str]) -> str:
    if not words:
        return "nothing may follow here"
    shown = words[:_MOST_ALTERNATIVES]
    if len(words) > len(shown):
        return f"expected {', '.join(shown)} …"
    return f"expected {', '.join(shown[:-1])} or {shown[-1]}" if len(shown) > 1 else f"expected {shown[0]}"


def _special(before: str, found: str, allowed: list[str], lines: list[str]) -> str:
    """Remedies for slips that the grammar alone explains badly."""
    statement = _statement(before)
    first = re.match(r"(?:\w+:)?\s*(?:@!?\S+\s+)?([a-z]\w*)\s*$", statement)
    if found == "end of file":
        opened = _unclosed(lines)
        return f"the `{{` of line {opened} is not closed" if opened else ""
    if found == "=" and "COMPARE" in allowed:
        return "equality is `==`"
    if found in ("&", "&&", "|", "||") and ("AND" in allowed or "OR" in allowed):
        return "write `and`, `or`"
    if "INTEGER" in allowed and "VALUE" in allowed and re.fullmatch(r"[a-z]\w*", found):
        return f"values are written `%{found}`, integers `#{found}`"
    if first is not None and found[:1] in "%<." and signatures.is_opcode(first[1].upper()):
        return f"opcodes are written in upper case: `{first[1].upper()}`"
    if "OPNAME" in allowed and signatures.is_opcode(found.upper()):
        return f"opcodes are written in upper case: `{found.upper()}`"
    if found == "'":
        return "one prime: the value on the next rung"
    return ""


def _suggestion(source: str, column: int, found: str, legal: list[str]) -> str:
    """A known word that resembles the one found, or the word that its statement begins with."""
    statement = _statement(source[: column - 1])
    earlier = re.findall(r"[a-z]+", statement)[-2:]
    candidates: list[tuple[str, Iterable[str]]] = [
        (found, legal),
        *((word, _BEGINNINGS if statement.startswith(word) else _RELATIONS) for word in reversed(earlier)),
    ]
    for word, known in candidates:
        close = [] if word in known else difflib.get_close_matches(word, list(known), 1, 0.65)
        if close:
            instead = "" if word == found else f" instead of `{word}`"
            return f"did you mean `{close[0]}`{instead}?"
    return ""


def _statement(before: str) -> str:
    """What stands on the line before an error, from the beginning of its statement on."""
    return re.split(r"[{;]", before)[-1].lstrip()


def _unclosed(lines: list[str]) -> int:
    """Line of the last ``{`` without a partner; strings and comments are left out."""
    opened: list[int] = []
    for number, line in enumerate(lines, 1):
        for sign in re.findall(r'"(?:[^"\\]|\\.)*"|//.*|[{}]', line):
            if sign == "{":
                opened.append(number)
            elif sign == "}" and opened:
                opened.pop()
    return opened[-1] if opened else 0
