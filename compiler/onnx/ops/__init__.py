"""The translators, one file a family of operators; importing them declares them (see :mod:`..registry`)."""
