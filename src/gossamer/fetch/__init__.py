"""Fetching: from a visit to an outcome.

Input is the URL of a visit. `dns` resolves its host and decides which address may be dialled; `robots` decides whether
the host allows the URL; `http` and `ftp` request it at the address that was chosen. Output is a `FetchOutcome`: the
response as it was received, or a `Failed` that says what went wrong.

Invariants:
  * remote errors are return values; nothing that a server sends makes this stage raise;
  * a connection is made only to the address given, after the address policy allowed it;
  * every phase has a deadline that slow progress cannot extend indefinitely;
  * redirects are not followed here: each hop is a visit of its own.
"""
