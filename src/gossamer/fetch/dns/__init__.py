"""DNS: from a host name to an address that may be dialled.

`resolver` answers from its cache, looks the host up once for all callers that wait for it, or says when to try again
(`ResolveLater`, which must not count as a failed visit). `address_choice` chooses one of the `Addresses`.

  * `cache` decides how long an answer is valid and when an expired one may be used because DNS is down; `StoredAnswer`
    is the form in which an answer survives a restart;
  * `lookup` queries both address families at several servers in turn and tracks the health of the servers; `cares`
    talks to one server through c-ares and interprets its replies;
  * `backoff` skips failing names and domains for increasing times, and detects that the resolver itself is down;
  * `policy` decides which addresses are forbidden.

Invariants: a name is resolved before its host is contacted, and the fetcher dials exactly the address that passed the
policy, so DNS rebinding has no effect. Every lookup ends within the answer time. Nothing that a name server sends makes
this stage raise. All memory is bounded.
"""
