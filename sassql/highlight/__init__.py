"""Colours for patterns and for SASS: Pygments lexers, and what both share with the TextMate grammars."""
