"""Debian's Chromium, driven by Playwright: a real browser, installed where it is missing and gone after the tests."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from tests.debian import apt, only_one
from tests.integration.crawl_process import wait_until

PATIENCE = 300.0
"""Seconds after which what a page should show is taken for lost. No test measures time by it."""


@cache
def chromium() -> str:
    """The program. One process at a time installs it; the others wait and find it."""
    if shutil.which("chromium") is None:
        with only_one():
            if shutil.which("chromium") is None:
                _install()
    if (found := shutil.which("chromium")) is None:
        raise RuntimeError("apt has installed chromium, but there is no such program")
    return found


def _install() -> None:
    command = ("install", "-y", "--no-install-recommends", "chromium")
    try:
        try:
            apt(*command)
        except RuntimeError:
            apt("update")  # a new machine knows no packages yet
            apt(*command)
    except RuntimeError as error:
        raise RuntimeError(
            "the tests of the dashboard need Debian's chromium, and apt cannot install it "
            f"(`apt-get install chromium` by hand will do): {error}"
        ) from error


@contextmanager
def running_browser() -> Iterator[Browser]:
    """A browser without a window. All its processes have ended when the block is over."""
    flags = ["--disable-dev-shm-usage", "--disable-gpu", "--force-color-profile=srgb"]
    if os.geteuid() == 0:
        flags.append("--no-sandbox")  # it refuses to start otherwise; the pages are our own
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=flags)
        started = [pid for pid in _below(os.getpid()) if _is_chromium(pid)]
        try:
            yield browser
        finally:
            started = list({*started, *(pid for pid in _below(os.getpid()) if _is_chromium(pid))})
            browser.close()
    wait_until(lambda: not any(map(_is_chromium, started)), "the processes of the browser to end", PATIENCE)


def _below(pid: int) -> list[int]:
    """All processes that a process has started, and those that they have."""
    try:
        tasks = [Path(each, "children").read_text().split() for each in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return []
    children = [int(child) for some in tasks for child in some]
    return [*children, *(below for child in children for below in _below(child))]


def _is_chromium(pid: int) -> bool:
    """Whether it runs, and is part of a browser. What has ended and waits for its parent to notice does not run."""
    try:
        return b"chromium" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


# --- accessibility ---------------------------------------------------------------------------------------


@cache
def _axe() -> str:
    return files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")


def findings(page: Page) -> list[str]:
    """What axe finds in the page as it is: serious and critical, each with the elements it concerns."""
    # Not as a script of the page: its policy lets none in from elsewhere.
    page.evaluate(_axe())
    found: list[dict[str, Any]] = page.evaluate("async () => (await axe.run()).violations")
    return [
        f"{each['id']}: {each['help']}: {json.dumps([node['html'][:160] for node in each['nodes'][:5]])}"
        for each in found
        if each["impact"] in ("serious", "critical")
    ]
