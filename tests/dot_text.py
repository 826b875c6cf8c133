"""A strict reader of the DOT that is written here: one graph, quoted names, statements that end in `;`."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Dot:
    """``nodes`` have their attributes as text; ``edges`` are (from, to, attributes)."""

    name: str = ""
    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    edges: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)


def tokens(text):
    """("text", quoted string) | ("word", …) | ("sign", …)."""
    place = 0
    while place < len(text):
        c = text[place]
        if c == '"':
            end, content = place + 1, ""
            while text[end] != '"':
                assert text[end].isprintable(), "a control character in a string"
                if text[end] == "\\":
                    assert text[end + 1] in '"\\nl', f"unknown escape {text[end + 1]!r}"
                    content += {"n": "\n", "l": "\n"}.get(text[end + 1], text[end + 1])
                    end += 1
                else:
                    content += text[end]
                end += 1
            yield "text", content
            place = end + 1
        elif c.isspace():
            place += 1
        elif text.startswith(("->", "--"), place):
            yield "sign", "->"
            place += 2
        elif c in "{}[]=,;":
            yield "sign", c
            place += 1
        else:
            end = place
            while end < len(text) and (text[end].isalnum() or text[end] in "_.-"):
                end += 1
            assert end > place, f"no token: {text[place : place + 20]!r}"
            yield "word", text[place:end]
            place = end


def read_dot(text):
    """The graph that the text describes; an assertion fails where it is no DOT."""
    found = Dot()
    kind, value, *_ = first = next(stream := iter(list(tokens(text))))
    assert first in (("word", "digraph"), ("word", "graph"))
    kind, value = next(stream)
    if kind == "text":
        found.name = value
        kind, value = next(stream)
    assert (kind, value) == ("sign", "{")
    rest = list(stream)
    assert rest.pop() == ("sign", "}")
    while rest:
        end = rest.index(("sign", ";"))
        statement(found, rest[:end])
        del rest[: end + 1]
    return found


def statement(found, parts):
    attributes = {}
    if ("sign", "[") in parts:
        place = parts.index(("sign", "["))
        assert parts[-1] == ("sign", "]")
        inside = parts[place + 1 : -1]
        for start in range(0, len(inside), 4):
            key, equals, value = inside[start : start + 3]
            assert equals == ("sign", "=") and "sign" not in (key[0], value[0])
            assert inside[start + 3 : start + 4] in ([], [("sign", ",")])
            attributes[key[1]] = value[1]
        parts = parts[:place]
    kinds = [kind for kind, _ in parts]
    if kinds == ["text"]:
        assert parts[0][1] not in found.nodes, "a node twice"
        found.nodes[parts[0][1]] = attributes
    elif kinds == ["text", "sign", "text"] and parts[1][1] == "->":
        found.edges.append((parts[0][1], parts[2][1], attributes))
    else:  # `key=value;` of the graph, or the defaults of nodes
        assert parts == [("word", "node")] or parts[1] == ("sign", "=")
