import csv
import io
import json
import os
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer import __version__
from gossamer.cli import COMMANDS
from gossamer.cli.crawl import one_interrupt_ignored, print_results, seeds_for
from gossamer.cli.main import main
from gossamer.config.load import Config
from gossamer.crawl.run.directory import CrawlDirectory
from gossamer.errors import DiskFull
from gossamer.model.units import Instant
from gossamer.observe.formatter import number_of
from gossamer.observe.snapshot import Snapshot
from gossamer.reports.export.formats import open_folder, open_output
from tests.cli.crawl_samples import change, small_crawl


@pytest.fixture(autouse=True)
def in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["crwl"], 2, "no such command: 'crwl'. Did you mean 'crawl'?"),
        (["zzz"], 2, "no such command: 'zzz' (see gossamer --help)"),
        (["--dir", "x"], 2, "unknown option '--dir': the command comes first"),
        (["crawl"], 2, "nothing to crawl: give a URL, --seeds FILE or --query TEXT"),
        (["crawl", "--bogus"], 2, "unrecognized arguments: --bogus"),
        (["crawl", "--max-pages", "many"], 2, "argument --max-pages: 'many' is not a whole number"),
        (["crawl", "--delay", "x"], 2, "argument --delay: 'x' is not a number"),
        (["crawl", "--delay", "nan", "a.test"], 2, "--delay: "),
        (["crawl", "--max-page", "1"], 2, "unknown option --max-page. Did you mean '--max-pages'?"),
        (["pages", "--max-pages=1"], 2, "unrecognized arguments: --max-pages=1"),
        (["crawl", "--config", "misspelt.toml", "a.test"], 2, "misspelt.toml: max_pagse: no such key. Did you mean '"),
        (["crawl", "--dir", "afile", "a.test"], 1, "afile is not a directory"),
        (["crawl", "--dir", "afile/below", "a.test"], 1, "afile is not a directory"),
        (["status", "--dir", "afile"], 1, "afile is not a directory"),
        (["explain", "a.test", "--dir", "afile"], 1, "afile is not a directory"),
        (["crawl", "--seeds", "nowhere.txt"], 2, "cannot read seeds from nowhere.txt: No such file or directory"),
        (["crawl", "ftp://a.test/"], 2, "bad seed 'ftp://a.test/' (argument 1): not http or https"),
        (["crawl", "--dns", "nonsense", "a.test"], 2, "--dns: must be HOST:PORT"),
        (["pages"], 1, "there is no crawl in 'crawl'; choose another with --dir"),
        (["status", "--dir", "x"], 1, "there is no crawl in 'x'"),
        (["dead", "requeue", "--dir", "x"], 1, "there is no crawl in 'x'"),
        (["dead", "burn"], 2, "argument action: invalid choice: 'burn'"),
        (["pages", "--state", "lost"], 2, "argument --state: invalid choice: 'lost'"),
        (["simweb", "--port", "70000"], 2, "--port: 70000 is not a port number"),
        (["simweb", "--preset", "none"], 2, "preset: 'none' is not one of"),
        (["simweb", "--ca-file", "x.pem"], 2, "--ca-file: requires --tls"),
        (["demo", "--pages", "0"], 2, "--pages: must be at least 1, not 0"),
    ],
)
def test_what_goes_wrong_is_said_in_one_line(
    words: list[str], code: int, message: str, capsys: Captured, tmp_path: Path
) -> None:
    (tmp_path / "afile").touch()
    (tmp_path / "misspelt.toml").write_text("max_pagse = 3\n")

    assert main(words) == code

    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"gossamer: error: {message}")
    assert err.count("\n") == 1


def test_a_bad_command_leaves_nothing_behind(tmp_path: Path, capsys: Captured) -> None:
    main(["crawl"])
    main(["pages", "--dir", "x"])
    main(["dead", "drop", "--dir", "y"])

    assert list(tmp_path.iterdir()) == []


def test_help_lists_every_command_and_each_explains_itself_with_an_example(capsys: Captured) -> None:
    assert main(["--help"]) == 0
    overview = capsys.readouterr().out

    for name in COMMANDS:
        assert f"\n  {name} " in overview
        assert main([name, "--help"]) == 0
        text = capsys.readouterr().out
        assert text.startswith(f"usage: gossamer {name} ")
        assert re.search(rf"examples?:\n  gossamer {name}", text)


def test_help_fits_a_terminal_of_eighty_columns(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    for name in COMMANDS:
        main([name, "--help"])
        description = capsys.readouterr().out.partition("\n\noptions:")[0]
        assert max(map(len, description.splitlines())) <= 80


def test_help_for_a_command_may_be_asked_both_ways(capsys: Captured) -> None:
    main(["help", "pages"])
    one = capsys.readouterr().out
    main(["pages", "--help"])

    assert capsys.readouterr().out == one


def test_the_version_is_told(capsys: Captured) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"gossamer {__version__}\n"


def test_no_command_shows_the_overview_and_is_bad_usage(capsys: Captured) -> None:
    assert main([]) == 2
    assert "usage: gossamer COMMAND" in capsys.readouterr().out


def test_a_second_interrupt_does_not_cut_off_the_report() -> None:
    with one_interrupt_ignored():
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupt_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("gossamer.cli.status.run", interrupted)

    assert main(["status"]) == 130


def test_an_existing_crawl_is_resumed_without_seeds(tmp_path: Path) -> None:
    small_crawl(tmp_path / "crawl")

    assert seeds_for(Config(), []) == []


def test_seeds_of_arguments_and_file_are_joined_each_once(tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text("http://a.test/\nhttp://b.test/\n")

    seeds = seeds_for(Config(seeds="seeds.txt"), ["http://b.test", "http://c.test/"])

    assert [seed.url for seed in seeds] == ["http://b.test/", "http://c.test/", "http://a.test/"]


@pytest.mark.parametrize(("quiet", "report_on_err"), [(False, True), (True, False)])
def test_with_json_the_last_line_of_output_is_one_object(quiet: bool, report_on_err: bool) -> None:
    out, err = io.StringIO(), io.StringIO()

    print_results(Config(json=True, quiet=quiet), Snapshot(at=Instant(0.0), pages=5), out, err)

    assert json.loads(out.getvalue())["pages"] == 5
    assert out.getvalue().count("\n") == 1
    assert bool(err.getvalue()) is report_on_err


def test_without_json_the_report_is_the_output() -> None:
    out, err = io.StringIO(), io.StringIO()

    print_results(Config(), Snapshot(at=Instant(0.0), pages=5), out, err)

    assert "pages stored" in out.getvalue()
    assert err.getvalue() == ""


def test_a_page_is_a_line_with_time_priority_depth_size_status_and_url(tmp_path: Path, capsys: Captured) -> None:
    small_crawl(tmp_path / "crawl")

    assert main(["pages"]) == 0

    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["FETCHED", "PRIORITY", "DEPTH", "BYTES", "STATUS", "URL"],
        ["2023-11-14T22:13:20Z", "2.0000", "2", "4321", "200", "http://h.test/1"],
        ["-", "2.0000", "2", "-", "dead", "http://h.test/2"],
        ["-", "2.0000", "2", "-", "queued", "http://h.test/3"],
    ]


def test_pages_export_and_dead_show_the_score_of_the_ordering_and_its_parts(tmp_path: Path, capsys: Captured) -> None:
    crawl = small_crawl(tmp_path / "crawl")
    change(crawl, "UPDATE facts SET value = 'novelty' WHERE name = 'order'")
    change(crawl, "UPDATE domains SET accesses = 3, links = 7")
    change(crawl, "UPDATE urls SET links = 2 WHERE id = 2")
    parts = {"novelty": 9.7, "references": 2.0, "domain_references": 0.07}

    main(["pages", "--parts", "--no-header"])
    _, line, _ = capsys.readouterr().out.splitlines()
    main(["pages", "--parts", "--json"])
    _, page, _ = map(json.loads, capsys.readouterr().out.splitlines())
    main(["export", "--parts", "--quiet"])
    _, row, _ = map(json.loads, capsys.readouterr().out.splitlines())
    main(["export", "--parts", "--quiet", "--format", "csv"])
    heading, _, cells, _ = csv.reader(io.StringIO(capsys.readouterr().out))
    main(["dead", "--json"])
    dead = json.loads(capsys.readouterr().out)

    assert line.split()[1] == "11.7700"
    assert line.endswith("http://h.test/2  novelty=9.7000 references=2.0000 domain_references=0.0700")
    assert [page["priority"], row["priority"], dead["priority"]] == [11.77] * 3
    assert page["priority_parts"] == row["priority_parts"] == parts
    assert json.loads(cells[heading.index("priority_parts")]) == parts
    assert main(["export", "--what", "graph", "--parts"]) == 2
    assert "--parts: requires --what pages" in capsys.readouterr().err


def test_pages_as_json_can_be_filtered(tmp_path: Path, capsys: Captured) -> None:
    small_crawl(tmp_path / "crawl")

    main(["pages", "--json", "--state", "dead", "--host", "h.test", "--limit", "5"])

    (page,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert page["url"] == "http://h.test/2"
    assert page["reason"] == "conn_refused"


def test_the_status_of_a_crawl_at_rest_and_in_use(tmp_path: Path, capsys: Captured) -> None:
    small_crawl(tmp_path / "crawl")
    main(["status", "--json"])
    at_rest = json.loads(capsys.readouterr().out)
    held = CrawlDirectory(tmp_path / "crawl")
    main(["status", "--json"])
    in_use = json.loads(capsys.readouterr().out)
    main(["status"])
    held.close()

    assert (at_rest["running"], in_use["running"]) == (False, True)
    assert at_rest["states"]["dead"] == in_use["states"]["dead"] == 1
    assert f"running (process {os.getpid()})" in capsys.readouterr().out


def test_dead_letters_are_listed_requeued_and_dropped(tmp_path: Path, capsys: Captured) -> None:
    small_crawl(tmp_path / "crawl")

    main(["dead"])
    listed = capsys.readouterr().out
    main(["dead", "requeue", "--reason", "other", "--json"])
    none = capsys.readouterr().out
    main(["dead", "drop", "--host", "h.test", "--json"])
    dropped = capsys.readouterr().out
    main(["dead", "list"])

    heading, letter = listed.splitlines()
    assert heading.split() == ["SINCE", "REASON", "TRIES", "URL", "DETAIL"]
    assert letter.split() == ["2023-11-14T22:13:20Z", "conn_refused", "3", "http://h.test/2", "port", "80"]
    assert heading.index("DETAIL") == letter.index("port 80")
    assert json.loads(none) == {"v": 1, "requeued": 0}
    assert json.loads(dropped) == {"v": 1, "dropped": 1}
    assert capsys.readouterr().out == ""


def test_numbers_are_written_with_the_singular_for_one_only(tmp_path: Path, capsys: Captured) -> None:
    counted = [(number_of(n, "URL"), number_of(n, "retry", "retries", counted_to=2)) for n in (0, 1, 2)]
    assert counted == [("0 URLs", "0 retries"), ("1 URL", "1 retry"), ("2 URLs", "2 or more retries")]
    told = []
    for dead in (0, 1, 2):
        crawl = small_crawl(tmp_path / f"crawl{dead}")
        change(crawl, "UPDATE urls SET state = 7, reason = 'conn_refused', tries = 3")
        change(crawl, "UPDATE urls SET state = 0 WHERE id > ?", dead)
        main(["dead", "requeue", "--dir", crawl.name])
        told.append(capsys.readouterr().out)

    assert told == [
        "0 dead letters requeued\n",
        "1 dead letter requeued; run gossamer crawl --dir crawl1 to visit it\n",
        "2 dead letters requeued; run gossamer crawl --dir crawl2 to visit them\n",
    ]


def test_a_list_without_lines_says_so_and_has_no_heading(tmp_path: Path, capsys: Captured) -> None:
    small_crawl(tmp_path / "crawl")

    for words, message in (
        (["pages", "--state", "stored"], "no matching pages\n"),
        (["hosts", "--host", "other.test"], "no matching hosts\n"),
        (["dead", "--reason", "other"], "no dead letters\n"),
    ):
        assert main(words) == 0
        assert tuple(capsys.readouterr()) == ("", message)
        assert main([*words, "--json"]) == 0
        assert tuple(capsys.readouterr()) == ("", "")


def test_a_full_disk_is_told_with_the_name_of_the_file(tmp_path: Path) -> None:
    small_crawl(tmp_path / "crawl")
    large = "x" * 100_000
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        with pytest.raises(DiskFull, match=r"^no space left for pages\.csv$"), open_output("pages.csv") as stream:
            stream.write(large.encode())
        with pytest.raises(DiskFull, match=r"^no space left for folder$"), open_folder("folder") as folder:
            folder.add("http://a.test/", large, title=None, fetched_at=None, language=None, digest=None)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [path.name for path in tmp_path.iterdir()] == ["crawl"]

    with open("/dev/full", "wb") as full:
        for command in ("pages", "export"):
            done = subprocess.run(
                [sys.executable, "-m", "gossamer.cli.main", command], stdout=full, stderr=subprocess.PIPE, check=False
            )
            assert done.returncode == 1
            assert done.stderr.endswith(b"gossamer: error: no space left for standard output\n")


@pytest.mark.parametrize("action", ["requeue", "drop"])
def test_dead_letters_are_not_changed_under_a_running_crawl(action: str, tmp_path: Path, capsys: Captured) -> None:
    small_crawl(tmp_path / "crawl")
    held = CrawlDirectory(tmp_path / "crawl")

    code = main(["dead", action])
    listing = main(["dead", "list"])

    held.close()
    out, err = capsys.readouterr()
    assert (code, listing) == (1, 0)
    assert "is in use" in err
    assert "http://h.test/2" in out


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path) -> None:
    small_crawl(tmp_path / "crawl")
    reading, writing = os.pipe()
    os.close(reading)

    done = subprocess.run(
        [sys.executable, "-m", "gossamer.cli.main", "pages"], stdout=writing, stderr=subprocess.PIPE, check=False
    )

    os.close(writing)
    assert done.returncode == 0
    assert done.stderr == b""
