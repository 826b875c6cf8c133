"""Opcode knowledge as data: the tables under `data/`, and what reads them."""
