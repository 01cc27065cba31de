"""The file of a worker."""

from pathlib import Path

import pytest

from gossamer.crawl.member.worker import WorkerFile
from gossamer.errors import DirectoryError
from gossamer.model.units import Epoch


def test_the_next_process_in_a_directory_reads_the_name_and_the_epochs(tmp_path: Path) -> None:
    WorkerFile(tmp_path).save("worker", [Epoch(7), Epoch(8)])

    found = WorkerFile(tmp_path)

    assert (found.name, found.epochs) == ("worker", [7, 8])


def test_a_new_directory_has_no_worker(tmp_path: Path) -> None:
    found = WorkerFile(tmp_path)

    assert (found.name, found.epochs) == (None, [])


def test_files_of_the_same_name_in_another_directory_have_other_names(tmp_path: Path) -> None:
    directories = [tmp_path / "a", tmp_path / "b"]
    for number, directory in enumerate(directories):
        directory.mkdir()
        WorkerFile(directory, str(number)).save("same", [])

    assert [WorkerFile(directory, "9").files_of("same") for directory in directories] == ["same-0", "same-1"]


def test_files_of_an_earlier_version_keep_their_names(tmp_path: Path) -> None:
    (tmp_path / "worker.json").write_text('{"name": "worker", "epochs": []}', encoding="utf-8")

    WorkerFile(tmp_path).save("worker", [])

    assert WorkerFile(tmp_path).files_of("worker") == "worker"


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "worker.json").write_text("{", encoding="utf-8")

    with pytest.raises(DirectoryError, match=r"worker\.json"):
        WorkerFile(tmp_path)
