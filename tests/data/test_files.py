# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Local files: taken by their very name, without a network, no larger than they may be, copied nowhere."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import shutil
import socket
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from complex_transformers import read_conllu
from complex_transformers.data import files
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


def test_rows_without_a_clip_are_named(tmp_path: Path) -> None:
    rows = [{"audio": path, "label": "a"} for path in (str(tmp_path / "clip.wav"), None)]
    (tmp_path / "clip.wav").write_bytes(b"sound")
    (tmp_path / "train.jsonl").write_text("\n".join(map(json.dumps, rows)))
    words = r"1 row\(s\) of the train data have no audio \(first: row 1\): remove them"
    refused(words, load_audio_dataset, dataset_name=str(tmp_path), cache_dir=str(tmp_path / "mine"))


@pytest.mark.parametrize("name", ["d[1]", "d*/data"])
def test_folders_that_datasets_would_take_for_others_are_refused(tmp_path: Path, name: str) -> None:
    write_table(tmp_path / name / "train.jsonl", [("good", "yes")], ("text", "label"))
    with pytest.raises(ValueError, match=r"as a pattern, and the files of another folder: rename"):
        load_text_dataset(dataset_name=str(tmp_path / name))


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
    assert {str(Path(part.cache_files[0]["filename"]).parent) for part in parts.values()} == {str(folder)}
    written = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert len(written) == 2
    assert load()["validation"]["text"][:] == ["end"]
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == written  # made once
    assert load(keep_linebreaks=True)["validation"]["text"][:] == ["end\n"]
    train.write_text("another text")
    assert load()["train"]["text"][:] == ["another text"]
    before = set(folder.iterdir())
    train.write_bytes(b"good\n\xff\n")
    refused(r"train\.txt is no UTF-8 text: .*line 2", load)
    assert set(folder.iterdir()) == before  # nothing half done


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.csv", b"text,label\ngood,yes,indeed\n", r"a\.csv is no readable csv table in UTF-8: .*Expected 2 fields"),
        ("a.csv", b"text,text\ngood,yes\n", r"two columns have the same name: \['text', 'text'\]"),
        ("a.csv", b"", r"a\.csv is no readable csv table"),
        ("a.csv", b"text,label\nsch\xf6n,yes\n", r"a\.csv is no readable csv table in UTF-8: .*utf-8"),
        ("a.tsv", b"text\tlabel\ngood\n", r"1 row\(s\) of the train data have no label \(first: row 0\)"),
        ("a.jsonl", b'{"text": "a"}\n[1]\n', r"a\.jsonl is no readable jsonl table in UTF-8: a row must be an object"),
        ("a.jsonl", b'{"text": "a"\n', r"a\.jsonl is no readable jsonl table"),
        ("a.jsonl", b'{"text": "a", "label": 18446744073709551616}\n', r"a\.jsonl is no readable jsonl table"),
        ("a.json", b"[" * 100_000, r"a\.json is no readable json table"),
        ("a.json", b"[]", r"no column 'text', only \[\]"),
        ("a.jsonl", b'{"text": "a", "label": 1}\n{"text": "a", "label": "b"}\n', r"a\.jsonl is no readable jsonl"),
        ("a.jsonl", b'{"text": NaN, "label": 1}\n', r"1 row\(s\) of the train data have no text \(first: row 0\)"),
        ("a.jsonl", b'{"text": "a", "label": 0}\n{"text": "b", "label": NaN}\n', r"have no label \(first: row 1\)"),
        ("a.jsonl", b'{"text": "a", "label": "x"}\n{"text": "b", "label": NaN}\n', r"have no label \(first: row 1\)"),
        ("a.json", b'[{"text": "a", "label": ["x", "y"]}]', r"a label that is neither .* row 0, \['x', 'y'\]\): make"),
        ("a.json", b'[{"text": {"a": 1}, "label": 1}]', r"a text that is neither a string nor a number"),
        ("a.csv.gz", b"text,label\n", r"a\.csv\.gz is no gzip archive, or a damaged one"),
    ],
)
def test_tables_that_cannot_be_read(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(data)
    refused(message, load_text_dataset, str(tmp_path / name))


def test_cells_mean_what_they_say(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b'\xef\xbb\xbftext,label,rest\n01,None,x\nNA,"a\nb"\n')
    (tmp_path / "a.jsonl").write_text('{"text": "2020-01-01", "label": 1}\n{"text": "b", "label": 2, "more": []}\n')
    assert read_table(str(tmp_path / "a.csv"), ["text", "label"]).to_dict() == {
        "text": ["01", "NA"],
        "label": ["None", "a\nb"],
    }
    assert read_table(str(tmp_path / "a.jsonl"), ["text"])["text"][:] == ["2020-01-01", "b"]
    assert read_table(str(tmp_path / "a.jsonl"), ["absent"]).column_names == ["text", "label", "more"]
    (tmp_path / "b.jsonl").write_text("\n".join(f'{{"label": {label}}}' for label in ("0", "1.5", "null", "1")))
    assert read_table(str(tmp_path / "b.jsonl"), ["label"])["label"][:] == ["0", "1.5", None, "1"]


READERS = {
    "train.csv.gz": (load_text_dataset, b"\0"),
    "train.jsonl.gz": (load_text_dataset, b"[1]\n"),
    "train.txt.gz": (lambda path: load_plain_text(path, __file__), b"\0"),
    "lines.txt.gz": (lambda path: load_plain_text(path, __file__), b"a\n"),
    "train.en.gz": (lambda path: load_parallel_dataset([path, path]), b"a\n"),
    "trees.conllu.gz": (lambda path: list(read_conllu(path)), b"\n"),
    "vectors.txt.gz": (read_vectors, b"a 1\n"),
    "vectors.bin.gz": (read_vectors, b"a \0\0\0\0"),
}


@pytest.mark.parametrize("name", READERS)
def test_archives_that_are_made_to_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(files, "_ALWAYS_ALLOWED", 2**16)
    read, content = READERS[name]
    head = b"9999999 1\n" if "vectors" in name else b""
    (tmp_path / name).write_bytes(gzip.compress(head + content * (2**21 // len(content))))
    refused(rf"{name} unpacks to more than [\d,]+ bytes, 250 times its size: .*unpack it", read, str(tmp_path / name))


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


def test_small_archives_may_hold_what_they_like(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"a\n" * 2**20))  # 1000 times smaller
    assert sum(1 for _ in files.read_lines(tmp_path / "a.gz")) == 2**20


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
    train, held, _ = stream_plain_text(text, str(tmp_path / f"b.txt.{ending}"))
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
    refused("must be a text file, got a Parquet table. Give its folder", load_plain_text, str(path), __file__)
    path.write_bytes(b"text")
    refused(r"train\[1\]\.parquet is no readable parquet table", read_table, str(path), ["text"])


@pytest.mark.parametrize("ending", ["tar", "tar.gz", "tar.xz", "tgz", "zip"])
def test_archives_of_several_files_are_named(tmp_path: Path, ending: str) -> None:
    member, path, csv = tmp_path / "a.txt", str(tmp_path / f"corpus.{ending}"), str(tmp_path / f"corpus.csv.{ending}")
    member.write_text("one\n" * 200)
    if ending == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.write(member, "a.txt")
    else:
        with tarfile.open(path, f"w:{ending.removeprefix('tar').strip('.')[-2:]}") as archive:
            archive.add(member, "a.txt")
    shutil.copy(path, csv)
    words = f"must be a single file, got a {ending[:3].replace('tgz', 'tar')} archive. Unpack it"
    refused(words, load_plain_text, path, str(member))
    refused(words, read_vectors, path)
    if ending in ("zip", "tar.gz"):
        refused(r"must end in \.csv|" + words, read_table, csv, ["text"])


def test_files_of_zeros_are_no_archives(tmp_path: Path) -> None:
    (tmp_path / "zeros.bin").write_bytes(bytes(2048))
    with files.open_file(tmp_path / "zeros.bin") as file:
        assert file.read() == bytes(2048)


@pytest.mark.parametrize("ending", COMPRESS)
def test_damaged_files_are_named(tmp_path: Path, ending: str) -> None:
    whole = COMPRESS[ending]("\n".join(map(str, range(50_000))).encode())
    path = tmp_path / f"a.txt.{ending}"
    for damaged in (whole[: len(whole) // 2], b"no archive", whole[:20] + b"?" * 20 + whole[40:]):
        path.write_bytes(damaged)
        refused(rf"a\.txt\.{ending} is no \w+ archive, or a damaged one", load_plain_text, str(path), __file__)
