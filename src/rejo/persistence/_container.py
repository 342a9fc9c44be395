"""The zip file around a model.  Nothing in it is compressed, so it cannot be a zip bomb.

Names, sizes and packing of all members are checked in the directory before one is read.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from rejo.persistence._refusals import ORIGIN, ModelFileError, ensure, first_line

HEADER, SCHEMA = "rejo.json", "schema.json"
MEMBER = re.compile(r"rejo\.json|schema\.json|\d{1,20}\.np[yz]", re.ASCII)
MAX_MEMBERS = 1_000_000
MAX_HEADER = 1 << 20


def unpack(data: bytes) -> dict[str, bytes]:
    """Return the members of the file by name."""
    try:
        with ZipFile(BytesIO(data)) as archive:
            parts = archive.infolist()
            _check_directory(parts, len(data))
            return {part.filename: archive.read(part) for part in parts}
    except ModelFileError:
        raise
    except Exception as error:  # the zip reader lets many kinds through on broken files
        if data[:1] == b"\x80" or data[:2] in (b"\x1f\x8b", b"BZ"):
            reason = "it looks like a pickle or a compressed one, which would run code"
        elif isinstance(error, BadZipFile):
            reason = f"it is not a zip file, or a broken one ({first_line(error)})"
        else:
            reason = f"its zip structure is broken ({first_line(error)})"
        raise ModelFileError(f"not a model file: {reason}", remedy=ORIGIN) from None


def _check_directory(parts: list[ZipInfo], size: int) -> None:
    n = len(parts)
    ensure(n <= MAX_MEMBERS, f"the file has {n} members, more than {MAX_MEMBERS}")
    sizes = {part.orig_filename: part.file_size for part in parts}
    for name in sizes:
        problem = f"the file has a member {name[:80]!r}, which no model file has"
        ensure(MEMBER.fullmatch(name), problem, remedy=ORIGIN)
    ensure(len(sizes) == n, "the file has two members of the same name")
    for name in (HEADER, SCHEMA):
        ensure(name in sizes, f"the file has no {name}", remedy=ORIGIN)
    for part in parts:
        stored = part.compress_type == ZIP_STORED and part.compress_size == part.file_size
        ensure(stored, f"member {part.filename} is compressed", remedy=ORIGIN)
        ensure(not part.flag_bits & 1, f"member {part.filename} is encrypted", remedy=ORIGIN)
    ensure(sum(sizes.values()) <= size, "members of the file overlap")
    ensure(sizes[HEADER] <= MAX_HEADER, f"rejo.json has more than {MAX_HEADER} bytes")


def pack(members: Mapping[str, bytes]) -> bytes:
    """Return a zip file; the same members give the same bytes."""
    buffer = BytesIO()
    with ZipFile(buffer, "w", ZIP_STORED) as archive:
        for name, data in members.items():
            part = ZipInfo(name)
            part.external_attr = 0o600 << 16
            archive.writestr(part, data)
    return buffer.getvalue()


def payload_hash(members: Mapping[str, bytes]) -> str:
    """Return the SHA-256 of names, lengths and contents of all members but the header."""
    digest = hashlib.sha256()
    for name in sorted(members.keys() - {HEADER}):
        digest.update(f"{name}:{len(members[name])}\n".encode())
        digest.update(members[name])
    return digest.hexdigest()


def parse_json(name: str, data: bytes) -> Any:
    """Parse JSON; refuse it if a key comes twice."""
    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=_unique)
    except ModelFileError as error:
        raise ModelFileError(f"{name}: {error}") from None
    except RecursionError:
        raise ModelFileError(f"{name} is nested too deeply") from None
    except ValueError as error:
        raise ModelFileError(f"{name} is not JSON ({first_line(error)})") from None


def check_free(path: Path, overwrite: bool) -> None:
    """Refuse to replace a file without ``overwrite``."""
    if not overwrite and (path.exists() or path.is_symlink()):
        raise FileExistsError(f"{path} exists: give another path, or overwrite=True.")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    ensure(len(found) == len(pairs), "a key comes twice")
    return found
