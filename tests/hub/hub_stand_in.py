# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""An in-memory replacement of the Hub's HTTP interface: repositories, commits, large files, private repositories.

It answers the requests of ``huggingface_hub`` and ``datasets``. Other requests get status 501 and are recorded, so
that a test fails on them.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

TOKEN = "hf_stand_in"
USER = "us"


@dataclass
class Repository:
    """The files of one repository after each commit, the first of them empty."""

    private: bool
    commits: list[dict[str, bytes]] = field(default_factory=lambda: [{}])
    messages: list[str] = field(default_factory=list)
    branches: dict[str, dict[str, bytes]] = field(default_factory=dict)  # files of branches and of pull requests

    @property
    def files(self) -> dict[str, bytes]:
        return self.commits[-1]

    def oid(self, number: int) -> str:
        return hashlib.sha1(f"{id(self)} {number}".encode()).hexdigest()

    def at(self, revision: str) -> tuple[str, dict[str, bytes]] | None:
        """Return the name and the files of a commit."""
        if revision in self.branches:
            return hashlib.sha1(revision.encode()).hexdigest(), self.branches[revision]
        numbers = {"main": len(self.commits) - 1} | {self.oid(n): n for n in range(len(self.commits))}
        return (self.oid(numbers[revision]), self.commits[numbers[revision]]) if revision in numbers else None


def blob_id(data: bytes) -> str:
    """Return the git hash of a file."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def is_large(path: str) -> bool:
    return path.endswith((".safetensors", ".parquet", ".bin"))


class Hub(ThreadingHTTPServer):
    """Repositories by kind and name: ``repositories["models", "us/cats"]``."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.repositories: dict[tuple[str, str], Repository] = {}
        self.objects: dict[str, bytes] = {}
        self.unknown: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    server: Hub

    def log_message(self, *args: object) -> None:
        """Nothing on the terminal."""

    def answer(self, status: int, content: object = None, **headers: str) -> None:
        data = content if isinstance(content, bytes) else json.dumps({} if content is None else content).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def refuse(self, status: int, code: str) -> None:
        self.answer(status, {"error": code}, X_Error_Code=code, X_Error_Message=code)

    def handle_request(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urlsplit(self.path)
        self.query, path = parse_qs(url.query), unquote(url.path)
        self.signed = self.headers.get("Authorization") == f"Bearer {TOKEN}"
        for method, pattern, handler in ROUTES:
            if self.command in method and (match := re.fullmatch(pattern, path)):
                return handler(self, body, **match.groupdict())
        self.server.unknown.append(f"{self.command} {self.path}")
        return self.answer(501)

    do_GET = do_HEAD = do_POST = do_PUT = handle_request

    # --- accounts, repositories ---

    def whoami(self, body: bytes) -> None:
        if not self.signed:
            return self.refuse(401, "Unauthorized")
        return self.answer(200, {"name": USER, "type": "user", "orgs": [], "auth": {}})

    def create(self, body: bytes) -> None:
        if not self.signed:
            return self.refuse(401, "Unauthorized")
        asked = json.loads(body)
        kind, name = f"{asked.get('type', 'model')}s", f"{asked.get('organization') or USER}/{asked['name']}"
        url = f"{self.server.url}/{'' if kind == 'models' else kind + '/'}{name}"
        if (kind, name) in self.server.repositories:
            return self.answer(409, {"url": url, "error": "You already created this repo"})
        private = asked.get("visibility") == "private" or asked.get("private", False)
        self.server.repositories[kind, name] = Repository(private)
        return self.answer(200, {"url": url, "name": name, "id": name})

    def repository(self, kind: str | None, repo: str, write: bool = False) -> Repository | None:
        """Return a repository that the caller may access; others are answered as missing, as on the Hub."""
        found = self.server.repositories.get((kind or "models", repo))
        if found is None or ((write or found.private) and not self.signed):
            self.refuse(404 if self.signed else 401, "RepoNotFound")
            return None
        return found

    def info(self, body: bytes, kind: str, repo: str, revision: str | None = None) -> None:
        if (found := self.repository(kind, repo)) is None:
            return None
        if (commit := found.at(revision or "main")) is None:
            return self.refuse(404, "RevisionNotFound")
        sha, files = commit
        siblings = [{"rfilename": name} for name in files]
        common = {"id": repo, "_id": repo, "private": found.private, "tags": [], "downloads": 0, "likes": 0}
        return self.answer(200, {**common, "sha": sha, "siblings": siblings, "gated": False, "disabled": False})

    def tree(self, body: bytes, kind: str, repo: str, revision: str, under: str | None = None) -> None:
        if (found := self.repository(kind, repo)) is None:
            return None
        if (commit := found.at(revision)) is None:
            return self.refuse(404, "RevisionNotFound")
        inside = f"{under.rstrip('/')}/" if under else ""
        asked = parse_qs(body.decode()).get("paths")  # of paths-info, by its form
        everything = asked is not None or self.query.get("recursive", ["false"])[0].lower() in ("true", "1")
        entries = {}
        for name, data in commit[1].items():
            if not name.startswith(inside) or (asked is not None and name not in asked):
                continue
            folder, _, rest = name.removeprefix(inside).partition("/")
            if everything or not rest:
                entries[name] = self.entry(name, data)
            if rest and asked is None:
                path = inside + folder
                entries[path] = {"type": "directory", "path": path, "oid": "0" * 40, "size": 0}
        if not entries and under:
            return self.refuse(404, "EntryNotFound")
        return self.answer(200, list(entries.values()))

    def entry(self, path: str, data: bytes) -> dict[str, object]:
        entry = {"type": "file", "path": path, "oid": blob_id(data), "size": len(data)}
        if is_large(path):
            entry["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 130}
        return entry

    # --- commits ---

    def accept(self, body: bytes) -> None:
        self.answer(200, {"errors": [], "warnings": []})

    def preupload(self, body: bytes, kind: str, repo: str, revision: str) -> None:
        if (found := self.repository(kind, repo, write=True)) is None:
            return None
        files = []
        for asked in json.loads(body)["files"]:
            old, large = found.files.get(asked["path"]), is_large(asked["path"])
            oid = None if old is None else hashlib.sha256(old).hexdigest() if large else blob_id(old)
            mode = "lfs" if large else "regular"
            files.append({"path": asked["path"], "uploadMode": mode, "shouldIgnore": False, "oid": oid})
        return self.answer(200, {"files": files})

    def batch(self, body: bytes, repo: str, kind: str | None = None) -> None:
        if self.repository(kind, repo, write=True) is None:
            return None
        objects = json.loads(body)["objects"]
        for asked in objects:
            asked["actions"] = {"upload": {"href": f"{self.server.url}/objects/{asked['oid']}"}}
        return self.answer(200, {"transfer": "basic", "objects": objects})

    def upload(self, body: bytes, oid: str) -> None:
        if hashlib.sha256(body).hexdigest() != oid:
            return self.refuse(400, "Checksum")
        self.server.objects[oid] = body
        return self.answer(200)

    def commit(self, body: bytes, kind: str, repo: str, revision: str) -> None:
        if (found := self.repository(kind, repo, write=True)) is None:
            return None
        files = dict(found.branches.get(unquote(revision), found.files))
        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "header":
                found.messages.append(value["summary"])
            elif line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = self.server.objects[value["oid"]]
            elif line["key"] == "deletedFile":
                del files[value["path"]]
            else:
                return self.refuse(501, line["key"])
        if self.query.get("create_pr") == ["1"]:
            revision = f"refs/pr/{len(found.branches) + 1}"
        if revision == "main":
            found.commits.append(files)
        else:
            found.branches[unquote(revision)] = files
        oid = found.oid(len(found.commits) - 1)
        answer = {"commitUrl": f"{self.server.url}/{repo}/commit/{oid}", "commitOid": oid}
        return self.answer(200, {**answer, "pullRequestUrl": f"{self.server.url}/{repo}/discussions/1"})

    def branch(self, body: bytes, kind: str, repo: str, name: str) -> None:
        if (found := self.repository(kind, repo, write=True)) is None:
            return None
        found.branches.setdefault(name, dict(found.files))
        return self.answer(200)

    # --- downloads ---

    def resolve(self, body: bytes, repo: str, revision: str, path: str, kind: str | None = None) -> None:
        if (found := self.repository(kind, repo)) is None:
            return None
        if (commit := found.at(revision)) is None:
            return self.refuse(404, "RevisionNotFound")
        if path not in commit[1]:
            return self.answer(404, {"error": "no such file"}, X_Error_Code="EntryNotFound", X_Repo_Commit=commit[0])
        data, status, headers = commit[1][path], 200, {}
        if match := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")):
            first, last = int(match[1]), min(int(match[2] or len(data) - 1), len(data) - 1)
            headers["Content_Range"] = f"bytes {first}-{last}/{len(data)}"
            data, status = data[first : last + 1], 206
        tag = hashlib.sha256(commit[1][path]).hexdigest()
        return self.answer(status, data, X_Repo_Commit=commit[0], ETag=f'"{tag}"', Accept_Ranges="bytes", **headers)


_API = r"/api/(?P<kind>models|datasets)/(?P<repo>[^/]+/[^/]+)"
_WEB = r"/(?:(?P<kind>datasets)/)?(?P<repo>[^/]+/[^/]+)"
_READ = ("GET", "HEAD")
ROUTES = [
    (_READ, "/api/whoami-v2", Handler.whoami),
    (("POST",), "/api/repos/create", Handler.create),
    (("POST",), "/api/validate-yaml", Handler.accept),
    (_READ, "/api/agent-harnesses", Handler.accept),  # asked by huggingface_hub in some environments
    (_READ, rf"{_API}(?:/revision/(?P<revision>[^/]+))?", Handler.info),
    (_READ, rf"{_API}/tree/(?P<revision>[^/]+)(?:/(?P<under>.+))?", Handler.tree),
    (("POST",), rf"{_API}/paths-info/(?P<revision>[^/]+)", Handler.tree),
    (("POST",), rf"{_API}/preupload/(?P<revision>[^/]+)", Handler.preupload),
    (("POST",), rf"{_API}/commit/(?P<revision>[^/]+)", Handler.commit),
    (("POST",), rf"{_API}/branch/(?P<name>[^/]+)", Handler.branch),
    (("POST",), rf"{_WEB}\.git/info/lfs/objects/batch", Handler.batch),
    (("PUT",), "/objects/(?P<oid>[0-9a-f]+)", Handler.upload),
    (_READ, rf"{_WEB}/resolve/(?P<revision>[^/]+)/(?P<path>.+)", Handler.resolve),
]


@contextmanager
def hub():
    """Run a hub until the block ends."""
    server = Hub()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
