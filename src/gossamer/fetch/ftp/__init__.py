"""FTP (RFC 959, 2428, 3659): files and directory listings, passive mode only. Off unless it is switched on.

`fetcher` keeps the promise of `fetch.ports.Fetcher`: one visit is one session, from the greeting to QUIT.
`session` is the control connection, a line at a time, with limits; `replies` says what a reply means; `paths` turns a
URL into what is asked for; `listing` reads what servers send as a directory, and `index_page` makes a page of it, so
that the links of a directory are found like those of any page.

What comes out looks like an answer over HTTP, so that retries, robots.txt and the frontier need to know nothing of FTP:
a file or a listing is 200, a directory asked for without its final slash is a 301 to the one with it, what is not
there is 404, a refused login 403, "not now" 503. `head` and `request_head` of the response are what was said on the
control connection, byte for byte.

What always holds:
  * only the address of the request is ever dialled, for control and data alike; the address in a reply is not read;
  * the server never connects to us (no PORT, no EPRT);
  * every wait has a deadline, every reply, file and listing a limit;
  * no byte of a URL can end a command and begin another.
"""
