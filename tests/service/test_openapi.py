"""docs/openapi.json is what the service says of itself. Run as a script (`make docs`) it writes it."""

import json
from pathlib import Path
from typing import Any

from gossamer.service.app import description

PAGE = Path(__file__).resolve().parents[2] / "docs" / "openapi.json"


def written() -> str:
    return json.dumps(description(), indent=1, sort_keys=True) + "\n"


def test_the_page_is_what_the_service_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == written(), "run `make docs`"


def test_it_is_openapi_3_1_with_the_routes_of_the_contract() -> None:
    schema = description()

    assert schema["openapi"].startswith("3.1")
    assert {"post"} <= schema["paths"]["/seed/urls"].keys()
    assert {"get", "post"} <= schema["paths"]["/url/limit"].keys()
    assert {"get"} <= schema["paths"]["/metrics"].keys()


def test_every_change_needs_the_token_and_takes_json() -> None:
    changes: list[dict[str, Any]] = [path["post"] for path in description()["paths"].values() if "post" in path]

    assert len(changes) == 5
    for change in changes:
        assert change["security"] == [{"token": []}]
        assert "application/json" in change["requestBody"]["content"]


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
