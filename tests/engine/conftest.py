"""Motifs and listings to rows, for every test of the engine."""

import pytest

from sassql.engine.pattern import Pattern
from sassql.reading.listing import read_listing


def _kernel(listing, arch="sm_90"):
    modules, problems = read_listing(listing, arch=arch)
    assert not problems, problems
    return modules[0].kernels[0]


def _pattern(body, head="motif m", **options):
    return Pattern.parse(f"class <fold> = <add>|<max>|<min>|<mul>\n{head} {{\n{body}\n}}", **options)


@pytest.fixture
def kernel_of():
    """``kernel_of(listing, arch)``: the kernel in a listing."""
    return _kernel


@pytest.fixture
def pattern_of():
    """``pattern_of(body)``: a pattern of one motif with that body."""
    return _pattern


@pytest.fixture
def match():
    """``match(body, listing)``: the rows of a motif with that body."""
    return lambda body, listing, arch="sm_90", **options: _pattern(body, **options).match(
        _kernel(listing, arch)
    )


@pytest.fixture
def places():
    """Addresses by label of each row."""
    return lambda rows: [
        {label: [i.address for i in found] for label, found in row.instructions.items()} for row in rows
    ]
