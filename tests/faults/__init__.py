"""A crawl by four workers while everything that it stands on fails (`make faults`)."""
