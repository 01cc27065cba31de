"""What people see of a crawl: progress while it runs, a report at the end, a log and a politeness audit.

The session takes a frozen `Snapshot` a few times a second. The displays, the report, `gossamer status` and the metrics
are made from it:

* `snapshot`: all statistics of a crawl at one time, the rates computed from them, and `status.json`, through which
  other processes read them;
* `display`, `terminal_view`: a live view on a terminal, a line every few seconds on a pipe or in a file;
* `report`: what is printed at the end of a crawl;
* `wait_reasons`, `freshness`: what a crawl is waiting for and how fresh its copies are, for all of the above;
* `formatter`: numbers, durations and untrusted text in readable form;
* `log`: the event log, one JSON object per line;
* `audit`: counts politeness violations, independently of the frontier.

Invariants: nothing here can stop or slow down a crawl (if the log cannot be written, lost events are counted and no
error is raised); text from the web reaches neither a terminal nor the log with control characters or secrets in it;
progress goes to standard error, so that standard output is free for results.
"""
