"""Addresses of object storage: `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX` or `az://ACCOUNT/CONTAINER/PREFIX`.

`?endpoint=URL` names another server than the provider's, `&region=NAME` its region. Credentials never are in a URL:
they come from the environment (`AWS_ACCESS_KEY_ID` and so on), from `~/.aws`, or from the role of the machine.
"""

import configparser
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from gossamer.errors import ConfigError

SCHEMES: Final = ("s3", "gs", "az")


def check_url(url: str) -> None:
    """Raises ConfigError, naming the part that cannot be used."""
    settings_in(url)


def settings_in(url: str) -> tuple[str, dict[str, str]]:
    """The URL without its query, and the settings in that."""
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES or not parts.netloc:
        raise ConfigError("blobs", f"{url!r} is not a URL of the form s3://BUCKET/PREFIX, gs:// or az://")
    if "@" in parts.netloc:
        raise ConfigError("blobs", "credentials do not belong into the URL; put them into the environment")
    settings = dict(parse_qsl(parts.query, keep_blank_values=True))
    for name in settings:
        if name not in ("endpoint", "region") or parts.scheme == "gs" or (name, parts.scheme) == ("region", "az"):
            raise ConfigError("blobs", f"{name!r} is not a setting of {parts.scheme}:// URLs")
    return parts._replace(query="", fragment="").geturl(), settings


def credentials_in(environment: Mapping[str, str]) -> dict[str, str]:
    """The credentials and the region in `~/.aws`, for what the environment does not say."""
    found: dict[str, str] = {}
    profile, home = environment.get("AWS_PROFILE", "default"), Path(environment.get("HOME", "/nonexistent"))
    names = {
        "AWS_SHARED_CREDENTIALS_FILE": (home / ".aws/credentials", profile),
        "AWS_CONFIG_FILE": (home / ".aws/config", profile if profile == "default" else f"profile {profile}"),
    }
    values: dict[str, str] = {}
    for variable, (usual, section) in names.items():
        file = configparser.ConfigParser(interpolation=None)
        try:
            file.read(environment.get(variable, str(usual)), encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError) as error:
            raise ConfigError("blobs", f"cannot read the credentials: {error}") from error
        if file.has_section(section):
            values = {**file[section], **values}
    if "AWS_ACCESS_KEY_ID" not in environment and "aws_access_key_id" in values:
        for key in ("access_key_id", "secret_access_key", "session_token"):
            if f"aws_{key}" in values:
                found[key] = values[f"aws_{key}"]
    if not {"AWS_REGION", "AWS_DEFAULT_REGION"} & environment.keys() and "region" in values:
        found["region"] = values["region"]
    return found
