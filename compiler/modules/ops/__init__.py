"""Translators of ATen operators, by family."""
