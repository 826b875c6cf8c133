"""The result document and its renderers. Empty so far."""
