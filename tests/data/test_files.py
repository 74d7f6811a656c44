# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Local files: taken by their very name, without a network, no larger than they may be, copied nowhere."""

from __future__ import annotations

import bz2
import gzip
import lzma
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from complex_transformers.data.files import whole_file
from complex_transformers.data.vectors import read_vectors
from complex_transformers.recipes import (
    load_audio_dataset,
    load_parallel_dataset,
    load_plain_text,
    load_text_dataset,
    stream_plain_text,
)
from complex_transformers.recipes.datasets.splits import read_table
from complex_transformers.semantics import read_rated_pairs
from refusals import refused
from table_files import write_table


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """No attempt to reach another machine, none of which would succeed, and nothing in the user's cache."""
    attempts: list[Any] = []

    def refuse(*address: Any, **_: Any) -> None:
        attempts.append(address)
        raise OSError("there is no network")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    for name in ("datasets.config.HF_HUB_OFFLINE", "huggingface_hub.constants.HF_HUB_OFFLINE"):
        monkeypatch.setattr(name, False)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr("datasets.config.DOWNLOADED_DATASETS_PATH", tmp_path / "cache" / "downloads")
    yield
    assert attempts == []
    assert not (tmp_path / "cache").exists()


NAMES = ("train[12]", "train*", "train?", "a::b")
ENDINGS = ("csv", "tsv", "json", "jsonl", "csv.gz", "jsonl.gz")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ending", ENDINGS)
def test_the_file_of_that_name_is_read(tmp_path: Path, name: str, ending: str) -> None:
    columns = ("text", "label")
    for other in ("train1", "trainx", "train"):
        write_table(tmp_path / f"{other}.{ending}", [("wrong", "no")] * 9, columns)
    path = write_table(tmp_path / f"{name}.{ending}", [("good", "yes"), ("bad", "no")], columns)
    test = write_table(tmp_path / "test.csv", [("other", "yes")], columns)
    assert read_table(path, columns)["text"][:] == ["good", "bad"]
    parts = load_text_dataset(path, test, test, overlap="allow")
    assert parts["train"].to_dict() == {"text": ["good", "bad"], "label": ["yes", "no"]}
    pairs = load_parallel_dataset(path, [test], source_column="text", target_column="label")
    assert pairs["train"]["source"][:] == ["good", "bad"]


@pytest.mark.parametrize("ending", ["CSV", "Json", "jsonl.GZ"])
def test_endings_in_capitals(tmp_path: Path, ending: str) -> None:
    written = write_table(tmp_path / f"a.{ending.lower()}", [("good", "yes")], ("text", "label"))
    path = Path(written).rename(tmp_path / f"b.{ending}")
    assert read_table(str(path), ["text"])["text"][:] == ["good"]


@pytest.mark.parametrize("name", NAMES)
def test_texts_and_folders_of_that_name_are_read(tmp_path: Path, name: str) -> None:
    for folder in ("train1", "trainx", name):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{name}.txt").write_text(f"{folder}\n")
    text, other = (str(tmp_path / folder / f"{name}.txt") for folder in (name, "train1"))
    assert load_plain_text(text, other)["train"]["text"][:] == [name]
    assert load_parallel_dataset([text, other], [other, text])["train"].to_dict() == {
        "source": [name],
        "target": ["train1"],
    }
    (tmp_path / name / "clip.wav").write_bytes(b"sound")
    clips = write_table(tmp_path / name / "clips.csv", [("clip.wav", "a")], ("path", "label"))
    parts = load_audio_dataset(clips, clips, overlap="allow")
    assert parts["train"]["audio"][:] == [str(tmp_path / name / "clip.wav")]


def test_a_folder_is_read_without_a_network_and_kept_where_asked(tmp_path: Path) -> None:
    for part, line in (("train", "one"), ("validation", "two")):
        write_table(tmp_path / "data" / f"{part}.jsonl", [(line, "yes")], ("text", "label"))
    for load in (load_text_dataset, load_plain_text) * 2:
        parts = load(dataset_name=str(tmp_path / "data"), cache_dir=str(tmp_path / "mine"))
        assert parts["train"]["text"][:] == ["one"]
    assert any((tmp_path / "mine").rglob("*.arrow"))


def test_large_texts_are_mapped_from_a_folder_of_the_callers(tmp_path: Path) -> None:
    train, validation = tmp_path / "train.txt", tmp_path / "validation.txt"
    lines = [f"line {number}" for number in range(25_000)]  # more than are brought together
    train.write_text("\n".join(lines))
    validation.write_text("end\r\n")
    folder = tmp_path / "mine"

    def load(**options: Any) -> Any:
        return load_plain_text(str(train), str(validation), cache_dir=str(folder), **options)

    parts = load()
    assert parts["train"]["text"][:] == load_plain_text(str(train), str(validation))["train"]["text"][:] == lines
    assert all(Path(part.cache_files[0]["filename"]).is_relative_to(folder) for part in parts.values())
    written = {path: path.stat().st_mtime_ns for path in folder.rglob("*.arrow")}
    assert len(written) == 2
    assert load()["validation"]["text"][:] == ["end"]
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.arrow")} == written  # written once
    assert load(keep_linebreaks=True)["validation"]["text"][:] == ["end\n"]
    train.write_text("another text")
    assert load()["train"]["text"][:] == ["another text"]


def test_cells_mean_what_they_say(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b'\xef\xbb\xbftext,label,rest\n01,None,x\nNA,"a\nb"\n')
    (tmp_path / "a.jsonl").write_text('{"text": "2020-01-01", "label": 1}\n{"text": "b", "label": 2, "more": []}\n')
    assert read_table(str(tmp_path / "a.csv"), ["text", "label"]).to_dict() == {
        "text": ["01", "NA"],
        "label": ["None", "a\nb"],
    }
    assert read_table(str(tmp_path / "a.jsonl"), ["text"])["text"][:] == ["2020-01-01", "b"]


def test_a_file_is_written_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    target, link = tmp_path / "out.txt", tmp_path / "link.txt"
    with whole_file(target) as file:
        file.write("first\n")
    link.symlink_to(target)
    target.chmod(0o640)
    with whole_file(link) as file:
        file.write("sécond\n")
        file.flush()
        assert target.read_text() == "first\n"
    assert target.read_text(encoding="utf-8") == link.read_text(encoding="utf-8") == "sécond\n"
    assert (link.is_symlink(), target.stat().st_mode & 0o777) == (True, 0o640)
    with pytest.raises(TypeError), whole_file(target) as file:
        file.writelines(["third\n", None])  # type: ignore[list-item]
    assert target.read_text(encoding="utf-8") == "sécond\n"
    assert sorted(tmp_path.iterdir()) == [link, target]
    refused("nowhere", lambda: whole_file(tmp_path / "nowhere" / "out.txt").__enter__(), error=FileNotFoundError)


def test_what_is_no_file_is_written_as_it_comes(capsys: pytest.CaptureFixture[str]) -> None:
    with whole_file(None) as file:
        file.write("said")
    assert capsys.readouterr().out == "said"
    with whole_file("/dev/null") as file:
        file.write("gone")
    assert not Path("/dev/null").is_file()


COMPRESS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("ending", COMPRESS)
def test_compressed_files_are_read_by_their_ending(tmp_path: Path, ending: str) -> None:
    def write(name: str, text: str) -> str:
        path = tmp_path / f"{name}.{ending}"
        path.write_bytes(COMPRESS[ending](text.encode()))
        return str(path)

    text = write("a.txt", "one\ntwo\n" * 20_000)
    parts = load_plain_text(text, write("b.txt", "three\n"))
    assert parts["train"]["text"][:] == ["one", "two"] * 20_000
    train, held = stream_plain_text(text, str(tmp_path / f"b.txt.{ending}"))
    assert next(train()) == "one"
    assert held == {"validation": ["three"]}
    for name, content in (("a.csv", "text,label\ngood,1\n"), ("a.jsonl", '{"text": "good", "label": 1}')):
        assert read_table(write(name, content), ["text"])["text"][:] == ["good"]
    assert list(read_vectors(write("v.txt", "a 1 2\nb 3 4\n"))) == ["a", "b"]
    assert read_rated_pairs(write("pairs.csv", "a,b,1\n")).name == "pairs"


def test_parquet_tables_are_read(tmp_path: Path) -> None:
    path = tmp_path / "train[1].parquet"
    parquet.write_table(pyarrow.table({"text": ["good", "bad"], "label": [1, 0], "more": [[], [2]]}), path)
    assert read_table(str(path), ["text", "label"]).to_dict() == {"text": ["good", "bad"], "label": [1, 0]}
    assert load_text_dataset(str(path), str(path), overlap="allow")["train"]["label"][:] == ["1", "0"]


@pytest.mark.parametrize(
    ("name", "data", "error", "message"),
    [
        ("a.csv", b"text,label\ngood,yes,indeed\n", ValueError, "Expected 2 fields in line 2, saw 3"),
        ("a.csv", b"", ValueError, "No columns to parse"),
        ("a.csv", b"text,label\nsch\xf6n,yes\n", UnicodeDecodeError, "utf-8"),
        ("a.csv", b"text,other\ngood,yes\n", ValueError, r"must have one column 'label', got \['text', 'other'\]"),
        ("a.csv", b"text;label\ngood;yes\n", ValueError, r"must have one column 'text', got \['text;label'\]"),
        ("a.csv", b"text,label,text\ngood,yes,bad\n", ValueError, "must have one column 'text'"),
        ("a.txt", b"good\n", ValueError, r"the ending of .*a\.txt must be one of \['csv', 'json', 'jsonl', 'parquet'"),
        (
            "a.tsv",
            b"text\tlabel\ngood\n",
            ValueError,
            "label must be a string or number, got '' in row 0",
        ),
        ("a.jsonl", b'{"text": "a"\n', ValueError, "Unexpected character"),
        ("a.jsonl", b'{"text": "a", "label": 1}\n{"text": "a", "label": "b"}\n', ValueError, "Could not convert 'b'"),
        ("a.jsonl", b'{"text": NaN, "label": 1}\n', ValueError, "text must be a string or number, got None in row 0"),
        ("a.jsonl", b'{"text": "a", "label": 0}\n{"text": "b", "label": null}\n', ValueError, "got None in row 1"),
        ("a.json", b'[{"text": "a", "label": ["x", "y"]}]', ValueError, r"got \['x', 'y'\] in row 0"),
        (
            "a.json",
            b'{"text": ["a", "b"], "label": [0, 1]}',
            ValueError,
            r"a\.json must have one object per line or a list",
        ),
        ("a.json", b'{"text": {"0": "a"}, "label": {"0": 1}}', ValueError, "got one object of columns"),
        ("a.json", b'{\n"text": ["a"],\n"label": [0]\n}', ValueError, "(?s)one object per line, or a list.*a.json"),
        ("a.csv.gz", b"text,label\n", OSError, r"(?s)Not a gzipped file.*while reading .*a\.csv\.gz"),
        ("a.parquet", b"text", ValueError, "(?s)Parquet.*while reading .*a.parquet"),
    ],
)
def test_tables_that_cannot_be_read(
    tmp_path: Path, name: str, data: bytes, error: type[Exception], message: str
) -> None:
    (tmp_path / name).write_bytes(data)
    refused(message, load_text_dataset, str(tmp_path / name), error=error)


@pytest.mark.parametrize("ending", ["tar", "tar.gz", "tar.xz", "zip"])
def test_archives_of_several_files_are_named(tmp_path: Path, ending: str) -> None:
    (tmp_path / "a.txt").write_text("one\n" * 200)
    kind = {"tar": "tar", "tar.gz": "gztar", "tar.xz": "xztar", "zip": "zip"}[ending]
    path = shutil.make_archive(str(tmp_path / "corpus"), kind, tmp_path, "a.txt")
    refused("must be a single file, got an archive. Unpack it", load_plain_text, path, str(tmp_path / "a.txt"))


@pytest.mark.parametrize("ending", COMPRESS)
def test_damaged_files_are_named(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.txt.{ending}"
    path.write_bytes(COMPRESS[ending]("\n".join(map(str, range(50_000))).encode())[:-100])
    words = rf"(?s)end-of-stream marker.*while reading .*a\.txt\.{ending}"
    refused(words, load_plain_text, str(path), __file__, error=EOFError)
