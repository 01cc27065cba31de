"""Side by side with other crawlers: the same webs, the same wishes, one judge.

    python -m benchmarks.peers                 all rounds, every peer that can be installed here, a table
    python -m benchmarks.peers --only scrapy   one of them beside Gossamer

What happens, in reading order:

    wishes     what every crawler is asked for: seeds, delay, one request per host at a time, robots.txt obeyed
    rounds     the webs they crawl: flat out, polite, trap, killed, trouble; and what is to be found on each
    trouble    hosts that fail, hang, redirect in circles or damage their text, beside those of the simulated web
    serving    the server, in a process of its own; it keeps the record by which all are judged
    crawlers   who takes part: how to install, start and read it; the spiders themselves are in `spiders/`
    running    a crawler as a process: its CPU, its memory, its end, or ours for it
    judge      the server's record and the stored pages -> findings; pure
    report     a table of it all

What always holds: a crawler is judged by what the server saw and by what lies on disk, never by what it says of itself.
Names of the web are in a hosts file that only the crawlers see (a mount namespace of their own); Gossamer, which does
not read it, asks the web's name server instead. All traffic stays on loopback.
"""
