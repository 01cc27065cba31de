"""Configuration: the sections of gossamer.toml, and the policy objects that are built from them."""
