"""Rows in a notebook: a table, and nothing of a name is markup."""

from __future__ import annotations

from sassql.engine.pattern import Pattern

LADDER = "motif exchange { s: SHFL.BFLY %t, %x, #d ; emit width = #d }"


def test_rows_are_a_list_and_a_table(compiled):
    kernel = next(k for k in compiled("sm_90", "report.cu").module.kernels if k.name == "row_softmax")
    rows = Pattern.parse(LADDER).match(kernel)
    shown = rows._repr_html_()

    assert isinstance(rows, list)
    assert shown.count("<tr>") == len(rows) + 1 == 11
    assert "<th>width</th>" in shown
    place = rows[0].instructions["s"][0]
    assert f"<code>{place.address:#x}</code>" in shown
    assert f"<code>{place.address:#x} {place.text}</code>" in rows[0]._repr_html_()
    assert Pattern.parse("motif none { HMMA %a, %b, %c, %d }").match(kernel)._repr_html_() == "<p>no rows</p>"


def test_a_name_is_escaped(compiled):
    from dataclasses import replace

    kernel = next(k for k in compiled("sm_90", "report.cu").module.kernels if k.name == "row_softmax")
    rows = Pattern.parse(LADDER).match(replace(kernel, name="<script>x</script>"))

    assert "<script>" not in rows._repr_html_()
    assert "&lt;script&gt;" in rows._repr_html_()
