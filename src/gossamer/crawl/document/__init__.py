"""From a fetched document to its settlement: decode, compare, extract links, admit them."""
