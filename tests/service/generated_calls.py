"""Hooks for schemathesis, which loads this module by its name (`SCHEMATHESIS_HOOKS`): calls that hit something, and a
count of what was answered."""

import atexit
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import schemathesis
from hypothesis import strategies

COUNTS = "GENERATED_CALLS_COUNTS"
"""The variable of the environment that names the file for the counts."""
KNOWN = ("known.test", "other.test", "127.0.0.1")

_counts: Counter[str] = Counter()

# What the description calls a domain is more than a pattern can say.
schemathesis.openapi.format(
    "domain", strategies.from_regex(r"\A(\*\.)?[a-z][a-z0-9]{0,20}(\.[a-z]{2,8}){1,3}\Z", fullmatch=True)
)


@schemathesis.hook
def before_call(context: schemathesis.HookContext, case: schemathesis.Case[Any], kwargs: dict[str, Any]) -> None:
    """Half of the hosts are made ones that the crawl knows. `stop` would end the service, so it becomes `pause`."""
    parameters = case.path_parameters
    if parameters and "host" in parameters and len(str(parameters["host"])) % 2:
        parameters["host"] = KNOWN[len(str(parameters["host"])) // 2 % len(KNOWN)]
    if isinstance(case.body, dict) and case.body.get("action") == "stop":
        case.body["action"] = "pause"


@schemathesis.hook
def after_call(
    context: schemathesis.HookContext, case: schemathesis.Case[Any], response: schemathesis.Response
) -> None:
    _counts[f"{case.method} {case.operation.path} {response.status_code}"] += 1


def _tell() -> None:
    Path(os.environ[COUNTS]).write_text(json.dumps(_counts), encoding="utf-8")


if COUNTS in os.environ:
    atexit.register(_tell)
