"""What a person sees of a crawl while it runs, and what is left to read afterwards.

The pipeline fills one frozen `Snapshot` a few times a second; everything here reads it and nothing else:

* `display` — while it runs: a live picture on a terminal (drawn by `picture`), a line every few seconds elsewhere;
  `terminal` knows what a stream can show, `rates` turns the growing totals into speeds, `words` puts figures into the
  form people read;
* `report` — when it ends: totals, rates, reasons, where the files are, what to do next (`sections` is the form that
  pipes and `gossamer status` get); or one JSON object;
* `waits` — what it waits for, in the same words for all of them; `live` — a small file with what only the running
  process knows, for `gossamer status`;
* `workings` — what goes on inside, for the metrics: how long each part of the way takes, what caches knew;
* `log` — events with stable names, one JSON line each, in the crawl's directory;
* `audit` — counts violations of politeness, by its own reckoning of what the frontier should have done.

What always holds: nothing here can stop or slow a crawl (a log that cannot be written is counted, not raised), no
text from the web reaches a terminal or the log with its control characters or secrets in it, and progress goes to
standard error so that standard output stays free for results.
"""
