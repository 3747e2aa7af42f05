"""The table in parts of few values each, more of which are kept."""
