"""Values that travel between stages. They import nothing outside `model` and make no decisions."""
