"""The pattern language: `.sq` text to a checked syntax tree. Knows opcodes, never kernels."""
