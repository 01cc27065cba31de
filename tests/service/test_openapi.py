"""docs/openapi.json is what the service says of itself, and the page `/docs` is made from it. Run as a script (`make
docs`) it writes both."""

import json
import re
from pathlib import Path
from typing import Any

from gossamer.service.app import FOLDER, description
from tests.service.api_page import api_page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "openapi.json"


def written() -> str:
    return json.dumps(description(), indent=1, sort_keys=True) + "\n"


def test_the_page_is_what_the_service_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == written(), "run `make docs`"


def test_the_page_of_the_routes_is_made_from_the_description() -> None:
    page = (FOLDER / "docs.html").read_text(encoding="utf-8")

    assert page == api_page(json.loads(written())), "run `make docs`"
    for path, methods in description()["paths"].items():
        for method in methods:
            assert f"<h2><code>{method.upper()} {path}</code></h2>" in page
    anchors = re.findall(r'\bid="([^"]+)"', page)
    assert len(anchors) == len(set(anchors)) and set(re.findall(r'href="#([^"]+)"', page)) == set(anchors)


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
    (FOLDER / "docs.html").write_text(api_page(json.loads(written())), encoding="utf-8")
