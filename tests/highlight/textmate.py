"""A small tokenizer of TextMate grammars: matches, begin and end, includes; line by line, as editors do."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "editors"
FILES = {"source.sq": "sq.tmLanguage.json", "source.sass-nvidia": "sass.tmLanguage.json"}


@cache
def grammar(scope):
    return json.loads((FOLDER / FILES[scope]).read_text("utf-8"))


@cache
def compiled(pattern):
    return re.compile(pattern)


def rules(scope, patterns):
    """(scope of the grammar, rule) with the includes resolved."""
    for rule in patterns:
        name = rule.get("include")
        if name is None:
            yield scope, rule
        elif name.startswith("#"):
            yield from rules(scope, grammar(scope)["repository"][name[1:]]["patterns"])
        else:
            yield from rules(name, grammar(name)["patterns"])


def expressions(scope):
    """Every regular expression of a grammar."""
    pending = [grammar(scope)["patterns"], *(r["patterns"] for r in grammar(scope)["repository"].values())]
    while pending:
        for rule in pending.pop():
            yield from (rule[key] for key in ("match", "begin", "end") if key in rule)
            pending.append(rule.get("patterns", []))


def tokens(scope, text):
    """(text, name of the scope or "") of everything in the text."""
    stack = []
    for line in text.splitlines():
        place = 0
        while place <= len(line):
            inner, patterns = (
                (stack[-1][0], stack[-1][1].get("patterns", []))
                if stack
                else (scope, grammar(scope)["patterns"])
            )
            best, chosen = None, None
            if stack:
                best, chosen = compiled(stack[-1][1]["end"]).search(line, place), "end"
            for source, rule in rules(inner, patterns):
                found = compiled(rule.get("match") or rule["begin"]).search(line, place)
                if found and (best is None or found.start() < best.start()):
                    best, chosen = found, (source, rule)
            if best is None:
                yield from plain(line[place:], stack)
                break
            yield from plain(line[place : best.start()], stack)
            if chosen == "end":
                yield from named(best, stack.pop()[1], "endCaptures")
            else:
                yield from named(best, chosen[1], "captures" if "match" in chosen[1] else "beginCaptures")
                if "begin" in chosen[1]:
                    stack.append(chosen)
            if best.end() == place == best.start() and chosen != "end":
                place += 1
            else:
                place = best.end()
            if place == len(line) and not (stack and compiled(stack[-1][1]["end"]).match(line, place)):
                break
        yield "\n", ""


def plain(text, stack):
    name = next((rule["name"] for _, rule in reversed(stack) if "name" in rule), "")
    if text:
        yield text, name


def named(found, rule, key):
    captures = rule.get(key, {})
    if not captures or "0" in captures:
        yield found[0], rule.get("name") or captures.get("0", {}).get("name", "")
        return
    place = found.start()
    for number in sorted(map(int, captures)):
        if found.start(number) < 0:
            continue
        if found.start(number) > place:
            yield found.string[place : found.start(number)], rule.get("name", "")
        yield found[number], captures[str(number)]["name"]
        place = found.end(number)
    if found.end() > place:
        yield found.string[place : found.end()], rule.get("name", "")
