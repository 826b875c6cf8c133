"""Classification, invariants, comparison and advice; built only from engine rows and facts. Empty so far."""
