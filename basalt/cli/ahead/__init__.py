"""``bslc compile -o``, and files with machine code in the other commands."""
