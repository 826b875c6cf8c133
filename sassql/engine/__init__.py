"""Evaluates motifs: syntax tree and facts of a kernel to result rows."""
