"""Where the shared conformance data is, and what happens when it is not.

CI and developers have `../shared/data` beside the repository, and there its absence is an error. A user's
clone has no `../shared` at all; only then the tests that need it are skipped, saying so.
"""

import os
from pathlib import Path

import pytest

_SHARED = Path(__file__).resolve().parents[2] / "shared"


def shared_data(relative: str) -> Path:
    """The path of a shared data file. Fails when it should be there and is not."""
    path = _SHARED / "data" / relative
    if path.exists():
        return path
    if _SHARED.exists() or os.environ.get("CI"):
        pytest.fail(f"shared conformance data is missing: {relative}", pytrace=False)
    pytest.skip(f"no shared conformance data beside this clone: {relative}", allow_module_level=True)
