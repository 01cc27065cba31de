"""From a visit to an outcome: name to address, rules of the host, then the exchange itself.

In comes a URL whose turn it is. `dns` turns its host into addresses and says which of them we may dial;
`robots` says whether the host lets us; `http` asks for the page at one address that was chosen beforehand.
Out comes a `FetchOutcome`: the answer as it was on the wire, or a `Failed` that names what went wrong.

What always holds:
  * the web's faults are values; nothing the other side sends makes this stage raise;
  * a connection is made only to the address given, after the address policy allowed it;
  * every phase has a deadline that progress does not push out for ever;
  * redirects are not followed here: each hop is a visit of its own, with its own turn.
"""
