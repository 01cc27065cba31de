"""One visit: address, robots.txt, request, and the disposition of the answer."""
