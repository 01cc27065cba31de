"""Small random graphs whose in-links and sites are as uneven as those of the web."""

import random

from gossamer.lab.simulate.graph import LinkGraph, make_graph


def random_graph(number: int, pages: int = 60, sites: int = 7) -> LinkGraph:
    chance = random.Random(number)
    site_of = sorted(int(sites * chance.random() ** 1.5) for _ in range(pages))
    links = []
    for page in range(pages):
        wanted = chance.choice((0, 1, 2, 3, 5, 9))
        near = [min(max(page + chance.randint(-8, 8), 0), pages - 1) for _ in range(wanted)]
        far = [int(pages * chance.random() ** 2) for _ in range(wanted // 2)]
        links.append(near + far)
    urls = [f"http://site{site}.test/" + "d/" * chance.randrange(4) + str(page) for page, site in enumerate(site_of)]
    return make_graph(f"random {number}", links, site_of, suffix_of=[site % 3 for site in range(sites)], urls=urls)
