"""The zip file around a model, and what opening it may cost.

Of all that a zip file may be, this reads the plainest form, which :func:`pack` writes: members one
after the other without gaps, stored and not compressed, then a directory that says the same once
more.  So nothing grows when it is read, and every other zip program can open the file too.  Python
reads the directory, once its size has been checked.
"""

import hashlib
import json
import re
import struct
import zlib
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from rejo._errors import Setting, Text
from rejo.persistence._refusals import AGAIN, ORIGIN, ModelFileError, ensure, first_line

Bytes = bytes | memoryview

HEADER, SCHEMA = "rejo.json", "schema.json"
MEMBER = re.compile(r"rejo\.json|schema\.json|\d{1,20}\.np[yz]", re.ASCII)
MAX_HEADER = 1 << 20
MAX_BYTES = 1 << 28
MOST_MEMBERS = 65_534  # with more, a zip file has another form
PIECE = 1 << 20

# What opening a file takes, in bytes: each of its bytes is read, and becomes a byte of an array;
# of a member, what it is called, and the node and the array that it becomes.
# JSON becomes text of up to 4 bytes a character, strings, and an object for each value: in a dict,
# its key, a pair while the dict is made, and up to twice the place in the dict.
COPIES, TEXT_COPIES, VALUE_BYTES, MEMBER_BYTES = 2, 6, 280, 1000

LOCAL, CENTRAL = 30, 46  # bytes before a member and of its entry in the directory, and its name
LONGEST = 24  # name of a member
END = struct.Struct("<4s4H2IH")
DIRECTORY = "the directory of the file does not agree with its members"


def read_file(path: Path, max_bytes: int) -> bytes:
    """Return the contents of a file or a pipe of at most ``max_bytes / COPIES`` bytes."""
    ensure(not path.is_dir(), "it is a folder, not a model file", remedy=ORIGIN)
    most, pieces, size = max_bytes // COPIES, [], 0
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            size += len(piece)
            ensure_room(size <= most, f"the file has more than {most:,} bytes", max_bytes)
            pieces.append(piece)
    return b"".join(pieces)


def ensure_room(holds: bool, problem: str, max_bytes: int) -> None:
    """Refuse a file whose opening would take more memory than ``max_bytes``."""
    ensure(
        holds,
        f"{problem}, and opening it may take more than {max_bytes:,} bytes of memory",
        remedy=Text("If you expect that, raise ", Setting("max_bytes")),
        parameter="max_bytes",
    )


def unpack(data: Bytes, max_bytes: int = MAX_BYTES) -> dict[str, Bytes]:
    members = read_zip(data, MEMBER)
    for name in (HEADER, SCHEMA):
        ensure(name in members, f"the file has no {name}", remedy=ORIGIN)
        members[name] = bytes(members[name])
    ensure(len(members[HEADER]) <= MAX_HEADER, f"rejo.json has more than {MAX_HEADER} bytes")
    problem = f"the file has {len(data):,} bytes"
    ensure_room(memory_needed(members) <= max_bytes, problem, max_bytes)
    return members


def memory_needed(members: Mapping[str, Bytes]) -> int:
    text = [bytes(members[HEADER]), bytes(members[SCHEMA])]
    values = sum(part.count(mark) for part in text for mark in (b",", b"[", b"{"))
    size = sum(map(len, members.values()))
    needed = COPIES * size + TEXT_COPIES * sum(map(len, text)) + VALUE_BYTES * values
    return needed + MEMBER_BYTES * len(members)


def read_zip(data: Bytes, allowed: re.Pattern[str]) -> dict[str, Bytes]:
    """Return the members of a zip file in the form that :func:`pack` writes, without a copy.

    Dates, permissions and the system that wrote it do not matter.
    """
    members: dict[str, Bytes] = {}
    view, at = memoryview(data), 0
    for info in _directory(data):
        name = info.filename
        problem = f"the file has a member {name[:80]!r}, which no model file has"
        ensure(allowed.fullmatch(name), problem, remedy=ORIGIN)
        ensure(name not in members, f"the file has two members {name}")
        ensure(not info.flag_bits & 1, f"member {name} is encrypted", remedy=ORIGIN)
        ensure(info.compress_type == ZIP_STORED, f"member {name} is compressed", remedy=ORIGIN)
        start = at + LOCAL + len(name)
        fine = info.header_offset == at and view[at:start] == info.FileHeader(zip64=False)
        ensure(fine and info.flag_bits == 0 and not info.extra, DIRECTORY)
        ensure(info.compress_size == info.file_size, DIRECTORY)
        member, at = view[start : start + info.file_size], start + info.file_size
        whole = len(member) == info.file_size and zlib.crc32(member) == info.CRC
        ensure(whole, f"member {name} is damaged: its checksum or its length is wrong")
        members[name] = member
    fine = at + sum(CENTRAL + len(name) for name in members) == len(data) - END.size
    ensure(fine, DIRECTORY)
    return members


def _directory(data: Bytes) -> list[ZipInfo]:
    """Return what the directory says, which is no longer than the names of members need."""
    if data[:4] != b"PK\x03\x04":
        raise ModelFileError(f"not a model file: {_guess(data)}", remedy=ORIGIN if data else AGAIN)
    ensure(len(data) >= END.size, DIRECTORY)
    mark, _, _, _, count, size, _, comment = END.unpack_from(data, len(data) - END.size)
    # Python looks here for a second directory, of larger files.
    larger = data[-END.size - 20 : -END.size - 16] == b"PK\x06\x07"
    ensure((mark, comment, larger) == (b"PK\x05\x06", 0, False), DIRECTORY)
    ensure(count <= MOST_MEMBERS, f"the file has more than {MOST_MEMBERS} members")
    ensure(size <= count * (CENTRAL + LONGEST), DIRECTORY)
    try:
        with ZipFile(BytesIO(data)) as archive:
            return archive.infolist()
    except (BadZipFile, ValueError, NotImplementedError):
        raise ModelFileError(DIRECTORY) from None


def _guess(data: Bytes) -> str:
    if data[:1] == b"\x80" or data[:2] in (b"\x1f\x8b", b"BZ"):
        return "it looks like a pickle or a compressed one, which would run code"
    return "it is empty" if not data else "it is not a zip file"


def pack(members: Mapping[str, bytes]) -> bytes:
    """Return a zip file; the same members give the same bytes."""
    ensure(len(members) <= MOST_MEMBERS, f"the model has more than {MOST_MEMBERS} arrays")
    ensure(sum(map(len, members.values())) < 2e9, "the model has more than 2 GB")
    buffer = BytesIO()
    with ZipFile(buffer, "w", allowZip64=False) as archive:
        for name, data in members.items():
            info = ZipInfo(name)  # of 1980-01-01
            # As a Unix system writes it; only the owner may read what is extracted.
            info.create_system, info.external_attr = 3, 0o100600 << 16
            archive.writestr(info, data)
    return buffer.getvalue()


def payload_hash(members: Mapping[str, Bytes]) -> str:
    """Return the SHA-256 of names, lengths and contents of all members but the header."""
    digest = hashlib.sha256()
    for name in sorted(members.keys() - {HEADER}):
        digest.update(f"{name}:{len(members[name])}\n".encode())
        digest.update(members[name])
    return digest.hexdigest()


def parse_json(name: str, data: Bytes) -> Any:
    """Parse JSON; refuse it if a key comes twice, or a number is not one of 64 bits."""
    try:
        text = str(data, "utf-8")
        return json.loads(
            text, object_pairs_hook=_unique, parse_int=_whole, parse_constant=_no_number
        )
    except ModelFileError as error:
        raise ModelFileError(f"{name}: {error}") from None
    except RecursionError:
        raise ModelFileError(f"{name} is nested too deeply") from None
    except ValueError as error:
        raise ModelFileError(f"{name} is not JSON ({first_line(error)})") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    ensure(len(found) == len(pairs), "a key comes twice")
    return found


def _whole(digits: str) -> int:
    ensure(len(digits) <= 20, "a whole number has more than 64 bits")
    value = int(digits)
    ensure(-(1 << 63) <= value < 1 << 64, "a whole number has more than 64 bits")
    return value


def _no_number(word: str) -> Any:
    raise ModelFileError(f"{word} is not a number")
