"""Analyses of a kernel, one a file; importing this package registers them for `Kernel.fact`."""

from __future__ import annotations

from sassql.facts import blocks, cfg, tags

__all__ = ["blocks", "cfg", "tags"]
