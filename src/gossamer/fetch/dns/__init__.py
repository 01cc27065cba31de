"""From a host name to addresses that we may dial.

`resolver` asks the name servers, once for all who wait; `cache` decides how long an answer holds and what to do
when DNS is down; `policy` says which addresses are out of bounds. A name is looked up before its host is contacted
and the fetcher dials exactly the address that passed the policy, so an answer that changes in between changes nothing.
"""
