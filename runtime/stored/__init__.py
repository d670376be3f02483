"""Programs from ``.bsl`` files: their plain data as arrays of the mapped file, their code, the order of their steps."""
