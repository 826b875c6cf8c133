"""Bytes and text to the model: tools, containers, ELF facts, words, listings."""
