"""Words of the pattern language by what they are: for highlighters; a test compares them with the grammar."""

from __future__ import annotations

from sassql.lang.messages import HEADER_WORDS, ITEM_WORDS, STATEMENT_WORDS

BLOCK_WORDS = ("for", "loop", "chain", "either", "or", "opt", "no", "every")
RELATION_WORDS = (
    *("flow", "slice", "path", "via", "max", "addr", "any", "some"),
    *("before", "dom", "pdom", "sameblock"),
)
CLAUSE_WORDS = ("use", "as", "where", "emit", "key", "per")
TEST_WORDS = ("expect", "todo", "from", "priority", "when")
OPERATOR_WORDS = ("and", "or", "not", "in", "matches")

KEYWORDS = tuple(
    dict.fromkeys(
        (
            *ITEM_WORDS,
            *STATEMENT_WORDS,
            *BLOCK_WORDS,
            *RELATION_WORDS,
            *CLAUSE_WORDS,
            *TEST_WORDS,
            *OPERATOR_WORDS,
        )
    )
)
"""Every word that the grammar knows."""

__all__ = ["HEADER_WORDS", "KEYWORDS", "OPERATOR_WORDS"]
