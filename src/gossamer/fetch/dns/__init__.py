"""From a host name to an address that we may dial.

In comes a host whose turn it is. `resolver` gives what is known of it, asks for it once for all who wait, or says when
to come back (`NotNow`, which must cost a URL nothing). Out come `Addresses`, and `dialling` chooses the one to dial.

  * `cache` decides how long an answer holds, and what stands in while DNS is down; `stored` is an answer's form over a
    restart;
  * `questions` asks for both families of addresses at several servers in turn; `upstreams` says which server first,
    `channel` speaks to one of them through c-ares, `answer` reads what it said;
  * `setbacks` leaves names and domains alone that fail, for a growing while; `breaker` finds out whether it is the
    resolver itself that is sick;
  * `policy` says which addresses are out of bounds.

What always holds: a name is looked up before its host is contacted, and the fetcher dials exactly the address that
passed the policy, so an answer that changes in between changes nothing. Every look-up ends within the answer time.
Nothing a name server sends makes this stage raise. All memory is bounded by numbers of ours.
"""
