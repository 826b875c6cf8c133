"""The result document, what makes it, and its renderers."""
