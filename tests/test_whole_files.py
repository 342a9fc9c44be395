"""Files that appear whole, or not at all."""

import errno
import os
import stat
import sys
import threading

import pytest

from rejo._io import WholeFile

posix = pytest.mark.skipif(os.name != "posix", reason="permissions, links and pipes of POSIX")


def put(path, data=b"new", **options):
    with WholeFile(path, **options) as file:
        file.write(data)


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.fixture
def umask():
    old = os.umask(0o027)
    yield
    os.umask(old)


@posix
def test_permissions(tmp_path, umask):
    path = tmp_path / "a"
    with WholeFile(path) as file:
        file.write(b"secret")
        (part,) = tmp_path.iterdir()
        assert part.name.startswith(".a.")
        assert mode(part) == 0o600
    assert mode(path) == 0o640  # as of a plain open
    path.chmod(0o604)
    put(path, overwrite=True)
    assert mode(path) == 0o604
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a"]


@posix
def test_what_a_link_leads_to_is_replaced(tmp_path):
    (tmp_path / "there").mkdir()
    real, link = tmp_path / "there" / "real", tmp_path / "link"
    link.symlink_to(real)
    put(link)  # leads to nothing yet
    with pytest.raises(FileExistsError, match="link"):
        put(link)
    put(link, b"newer", overwrite=True)
    assert link.is_symlink()
    assert real.read_bytes() == b"newer"
    assert sorted(os.listdir(tmp_path)) == ["link", "there"]
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for overwrite in (True, False):
        with pytest.raises(OSError, match="symbolic links"):
            put(loop, overwrite=overwrite)
    assert loop.is_symlink()


@posix
@pytest.mark.parametrize("overwrite", [True, False])
def test_a_pipe_stays_one(tmp_path, overwrite):
    path, read = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()))
    reader.start()
    put(path, overwrite=overwrite)
    reader.join()
    assert read == [b"new"]
    assert stat.S_ISFIFO(os.stat(path).st_mode)
    assert os.listdir(tmp_path) == ["pipe"]


@posix
@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="Linux")
def test_a_pipe_without_a_name(tmp_path):
    out, into = os.pipe()
    put(f"/proc/self/fd/{into}")
    os.close(into)
    with open(out, "rb") as file:
        assert file.read() == b"new"


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("overwrite", [True, False])
def test_a_file_that_appears_meanwhile(tmp_path, monkeypatch, links, overwrite):
    path = tmp_path / "a"
    if not links:
        monkeypatch.setattr(os, "link", refuse)
    if overwrite:
        with WholeFile(path, overwrite=True) as file:
            path.write_bytes(b"theirs")
            file.write(b"new")
    else:
        with pytest.raises(FileExistsError, match="overwrite"), WholeFile(path) as file:
            path.write_bytes(b"theirs")
    assert path.read_bytes() == (b"new" if overwrite else b"theirs")
    assert os.listdir(tmp_path) == ["a"]


def refuse(*_):
    raise PermissionError(1, "not here")


@pytest.mark.parametrize("overwrite", [True, False])
@pytest.mark.parametrize("broken", ["replace", "fsync"])
def test_nothing_is_left_after_an_error(tmp_path, monkeypatch, overwrite, broken):
    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr(os, broken, refuse)
    with pytest.raises(PermissionError, match="not here"):
        put(tmp_path / "a", overwrite=overwrite)
    assert os.listdir(tmp_path) == []
    with pytest.raises(KeyboardInterrupt), WholeFile(tmp_path / "a", overwrite=overwrite):
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_full_disk_names_the_file(tmp_path, monkeypatch):
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(OSError, match="No space left") as raised:
        put("/dev/full")
    assert raised.value.filename == "/dev/full"
    with pytest.raises(OSError, match="No space left") as raised, WholeFile(tmp_path / "a"):
        raise full
    assert raised.value.filename == str(tmp_path / "a")


def test_a_part_of_someone_else_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("secrets.token_hex", lambda n: "same")
    theirs = tmp_path / ".a.same.part"
    theirs.write_bytes(b"theirs")
    with pytest.raises(FileExistsError):
        put(tmp_path / "a")
    assert theirs.read_bytes() == b"theirs"
    assert os.listdir(tmp_path) == [".a.same.part"]


def test_names_as_long_as_they_may_be(tmp_path):
    for name in ("a" * 255, "\u20ac" * 85):
        put(tmp_path / name)
        assert (tmp_path / name).read_bytes() == b"new"
    with pytest.raises(IsADirectoryError, match="is a folder"):
        put(tmp_path)


def test_a_page_of_a_command(tmp_path):
    from rejo.cli._files import CommandError, write_file

    path = tmp_path / "a.html"
    write_file(path, "first", overwrite=False)
    with pytest.raises(CommandError, match="--overwrite"):
        write_file(path, "second", overwrite=False)
    assert path.read_text() == "first"
    write_file(path, b"third")
    assert path.read_text() == "third"
    with pytest.raises(CommandError, match=r"cannot write .*No such file or directory") as caught:
        write_file(tmp_path / "none" / "a", "x")
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/null")
def test_a_command_may_write_to_a_device(tmp_path):
    from pathlib import Path

    from rejo.cli._files import check_output, write_file

    path = check_output(Path("/dev/null"), overwrite=False)
    write_file(path, "gone", overwrite=False)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
