"""Why a cache cannot be used."""

from enum import StrEnum


class CacheFault(StrEnum):
    """What is wrong with the server of a cache, as it is counted and shown."""

    AWAY = "away"
    SLOW = "slow"
    OUT_OF_MEMORY = "out_of_memory"
    READ_ONLY = "read_only"
    PASSWORD = "password"
    OTHER = "other"
