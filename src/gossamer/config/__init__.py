"""Configuration: the sections of gossamer.toml, and the policy objects that are made from them."""
