"""The exporters, by family of operators."""
