"""The zip file around a model, and what opening it may cost.

Of all that a zip file may be, this reads the plainest form, which :func:`pack` writes: members one
after the other without gaps, stored and not compressed, then a directory that says the same once
more.  So nothing grows when it is read, and every other zip program can open the file too.
"""

import hashlib
import json
import re
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rejo.persistence._refusals import AGAIN, ORIGIN, ModelFileError, ensure, first_line

Bytes = bytes | memoryview

HEADER, SCHEMA = "rejo.json", "schema.json"
MEMBER = re.compile(r"rejo\.json|schema\.json|\d{1,20}\.np[yz]", re.ASCII)
MAX_HEADER = 1 << 20
MAX_BYTES = 1 << 28
MOST_MEMBERS = 100_000
PIECE = 1 << 20

# What opening a file takes, in bytes: each of its bytes is read, and becomes a byte of an array;
# of a member, what it is called, and the node and the array that it becomes.
# JSON becomes text of up to 4 bytes a character, strings, and an object for each value: in a dict,
# its key, a pair while the dict is made, and up to twice the place in the dict.
COPIES, TEXT_COPIES, VALUE_BYTES, MEMBER_BYTES = 2, 6, 280, 1000

LOCAL = struct.Struct("<4s5H3I2H")
CENTRAL = struct.Struct("<4s6H3I5H2I")
END = struct.Struct("<4s4H2IH")
DATE = 0x21  # 1980-01-01: the same members give the same bytes


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
        remedy="If you expect that, raise max_bytes",
        parameter="max_bytes",
    )


def unpack(data: Bytes, max_bytes: int = MAX_BYTES) -> dict[str, Bytes]:
    """Return the members of a model file by name."""
    members = read_zip(data, MEMBER)
    for name in (HEADER, SCHEMA):
        ensure(name in members, f"the file has no {name}", remedy=ORIGIN)
        members[name] = bytes(members[name])
    ensure(len(members[HEADER]) <= MAX_HEADER, f"rejo.json has more than {MAX_HEADER} bytes")
    problem = f"the file has {len(data):,} bytes"
    ensure_room(memory_needed(members) <= max_bytes, problem, max_bytes)
    return members


def memory_needed(members: Mapping[str, Bytes]) -> int:
    """Return how many bytes of memory opening a file takes, at most."""
    text = [bytes(members[HEADER]), bytes(members[SCHEMA])]
    values = sum(part.count(mark) for part in text for mark in (b",", b"[", b"{"))
    size = sum(map(len, members.values()))
    needed = COPIES * size + TEXT_COPIES * sum(map(len, text)) + VALUE_BYTES * values
    return needed + MEMBER_BYTES * len(members)


def read_zip(data: Bytes, allowed: re.Pattern[str]) -> dict[str, Bytes]:
    """Return the members of a zip file in the form that :func:`pack` writes, without a copy.

    Dates, permissions and the system that wrote it do not matter.
    """
    data = memoryview(data)
    members: dict[str, Bytes] = {}
    places: list[tuple[str, int, int]] = []  # name, checksum, offset
    at = 0
    while data[at : at + 4] == b"PK\x03\x04":
        name, crc, start, size = _read_local(data, at)
        problem = f"the file has a member {name[:80]!r}, which no model file has"
        ensure(allowed.fullmatch(name), problem, remedy=ORIGIN)
        ensure(name not in members, f"the file has two members {name}")
        ensure(len(members) < MOST_MEMBERS, f"the file has more than {MOST_MEMBERS} members")
        member = data[start : start + size]
        fine = len(member) == size and zlib.crc32(member) == crc
        ensure(fine, f"member {name} is damaged: its checksum or its length is wrong")
        members[name] = member
        places.append((name, crc, at))
        at = start + size
    if not members:
        raise ModelFileError(f"not a model file: {_guess(data)}", remedy=ORIGIN if data else AGAIN)
    for name, crc, offset in places:
        at = _check_entry(data, at, name, crc, len(members[name]), offset)
    _check_end(data, at, len(places))
    return members


def _read_local(data: Bytes, at: int) -> tuple[str, int, int, int]:
    """Name, checksum, start and size of the member at a place."""
    ensure(len(data) >= at + LOCAL.size, "the file ends too early")
    _, _, flags, method, _, _, crc, packed, size, n_name, n_extra = LOCAL.unpack_from(data, at)
    start = at + LOCAL.size + n_name
    name = str(data[at + LOCAL.size : start], "latin1")
    ensure(not flags & 1, f"member {name[:80]!r} is encrypted", remedy=ORIGIN)
    ensure(method == 0, f"member {name[:80]!r} is compressed", remedy=ORIGIN)
    plain = flags == 0 and n_extra == 0 and packed == size
    ensure(plain, f"member {name[:80]!r} is packed in an unusual way", remedy=ORIGIN)
    return name, crc, start, size


def _check_entry(data: Bytes, at: int, name: str, crc: int, size: int, offset: int) -> int:
    """Check that the directory says of a member what the member says; return the next place."""
    fine = len(data) >= at + CENTRAL.size
    if fine:
        mark, _, _, flags, method, _, _, *rest = CENTRAL.unpack_from(data, at)
        crc_again, packed, full, n_name, n_extra, n_comment, disk, _, _, place = rest
        start = at + CENTRAL.size
        fine = (mark, flags, method, n_extra, n_comment, disk) == (b"PK\x01\x02", 0, 0, 0, 0, 0)
        fine = fine and (crc_again, packed, full, place) == (crc, size, size, offset)
        fine = fine and data[start : start + n_name] == name.encode("latin1")
        at = start + n_name
    ensure(fine, "the directory of the file does not agree with its members", remedy=AGAIN)
    return at


def _check_end(data: Bytes, at: int, n: int) -> None:
    fine = len(data) == at + END.size
    if fine:
        mark, disk, first, here, total, size, start, comment = END.unpack_from(data, at)
        fine = (mark, disk, first, comment) == (b"PK\x05\x06", 0, 0, 0)
        fine = fine and here == total == n & 0xFFFF and start + size == at
    ensure(fine, "the directory of the file does not agree with its members", remedy=AGAIN)


def _guess(data: Bytes) -> str:
    if data[:1] == b"\x80" or data[:2] in (b"\x1f\x8b", b"BZ"):
        return "it looks like a pickle or a compressed one, which would run code"
    return "it is empty" if not data else "it is not a zip file"


def pack(members: Mapping[str, bytes]) -> bytes:
    """Return a zip file; the same members give the same bytes."""
    pieces, directory, at = [], [], 0
    for name, data in members.items():
        text, crc, size = name.encode("ascii"), zlib.crc32(data), len(data)
        if at + size >= 1 << 32:
            raise ModelFileError("the model has more than 4 GB")
        head = (20, 0, 0, 0, DATE, crc, size, size, len(text), 0)
        pieces += [LOCAL.pack(b"PK\x03\x04", *head), text, data]
        # Written by a Unix system; only the owner may read what is extracted.
        entry = CENTRAL.pack(b"PK\x01\x02", 0x314, *head, 0, 0, 0, 0o100600 << 16, at)
        directory += [entry, text]
        at += LOCAL.size + len(text) + size
    tail = b"".join(directory)
    n = len(members) & 0xFFFF
    end = END.pack(b"PK\x05\x06", 0, 0, n, n, len(tail), at, 0)
    return b"".join([*pieces, tail, end])


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


def check_free(path: Path, overwrite: bool) -> None:
    """Refuse to replace a file without ``overwrite``."""
    if not overwrite and (path.exists() or path.is_symlink()):
        raise FileExistsError(f"{path} exists: give another path, or overwrite=True.")


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
