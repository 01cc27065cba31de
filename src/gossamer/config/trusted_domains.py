"""The trusted domains of a configuration that names none: trusted_domains.txt, one per line."""

from functools import cache
from importlib.resources import files


@cache
def trusted_by_default() -> tuple[str, ...]:
    lines = files("gossamer.config").joinpath("trusted_domains.txt").read_text(encoding="ascii").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))
