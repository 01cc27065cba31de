"""The version of Gossamer."""

__version__ = "0.1.0"
