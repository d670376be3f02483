"""What the compiler made of a model, as data, and as a page that shows it."""
