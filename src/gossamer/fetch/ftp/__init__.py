"""FTP (RFC 959, 2428, 3659): files and directory listings, passive mode only. Disabled by default.

`fetcher` implements `fetch.ports.Fetcher`: one visit is one session, from the greeting to QUIT. `session` is the
control connection, with limits, and the meaning of replies; `listing` parses directory listings and makes an HTML page
of them, so that the links of a directory are found like those of any page.

The result looks like an HTTP response, so that retries, robots.txt and the frontier need not know about FTP: a file or
a listing is 200, a directory requested without its final slash is a 301 to the URL with it, a missing file is 404, a
refused login 403, a temporary refusal 503. `head` and `request_head` of the response are the control connection, byte
for byte.

Invariants:
  * only the address of the request is ever dialled, for control and data; addresses in replies are ignored;
  * the server never connects to us (no PORT, no EPRT);
  * every wait has a deadline, every reply, file and listing a size limit;
  * no byte of a URL can end a command and begin another.
"""
