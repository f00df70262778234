"""A Python for arm64 in a folder, from Debian's and PyPI's packages, made by any user.

Nothing is installed: packages of Debian are unpacked, after their hashes have been checked.
"""

from __future__ import annotations

import hashlib
import lzma
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

MIRROR = os.environ.get("DEBIAN_MIRROR", "http://deb.debian.org/debian")
RELEASE, ARCHITECTURE = "bookworm", "arm64"
# Debian 12's Python, and what the modules of its library link.
PYTHON = "python3.11"
WANTED = (PYTHON, "libstdc++6", "libgomp1")
# Platforms whose wheels run there: glibc is 2.36.
PLATFORMS = [f"manylinux{name}_aarch64" for name in ("_2_34", "_2_28", "_2_27", "_2_17", "2014")]
QEMU = ("qemu-aarch64-static", "qemu-aarch64")


class Missing(Exception):
    """Something that this machine does not have; the text says what."""


def fetched(url: str, path: Path, sha256: str = "") -> Path:
    """A file from the web, kept once it is here."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                content = answer.read()
        except OSError as error:
            raise Missing(f"{url} cannot be reached: {error}") from None
        if sha256 and hashlib.sha256(content).hexdigest() != sha256:
            raise Missing(f"{url} is not what Debian's list says")
        path.write_bytes(content)
    return path


def _paragraphs(text: str) -> Iterator[dict[str, str]]:
    for paragraph in text.split("\n\n"):
        fields = re.findall(r"^([\w-]+): (.*)$", paragraph, re.MULTILINE)
        if fields:
            yield dict(fields)


def _closure(known: dict[str, dict[str, str]], wanted: tuple[str, ...]) -> list[dict[str, str]]:
    """Packages and all that they depend on; the first of alternatives."""
    found: dict[str, dict[str, str]] = {}
    todo = list(wanted)
    while todo:
        name = todo.pop()
        if name in found or name not in known:
            continue
        found[name] = known[name]
        needs = ", ".join(known[name].get(field, "") for field in ("Depends", "Pre-Depends"))
        todo += [re.split(r"[ :|(]", each.strip())[0] for each in needs.split(",") if each.strip()]
    return list(found.values())


def unpack_python(folder: Path) -> Path:
    """Debian's Python for arm64 under `folder`; the root of its files."""
    root = folder / "root"
    if (root / "usr/bin" / PYTHON).exists():
        return root
    if shutil.which("dpkg-deb") is None:
        raise Missing("dpkg-deb, which unpacks Debian's packages, is not installed")
    packages = fetched(
        f"{MIRROR}/dists/{RELEASE}/main/binary-{ARCHITECTURE}/Packages.xz", folder / "Packages.xz"
    )
    text = lzma.decompress(packages.read_bytes()).decode()
    known = {each["Package"]: each for each in _paragraphs(text)}
    for package in _closure(known, WANTED):
        file = fetched(
            f"{MIRROR}/{package['Filename']}",
            folder / "debs" / Path(package["Filename"]).name,
            package["SHA256"],
        )
        subprocess.run(["dpkg-deb", "--extract", str(file), str(root)], check=True)
    return root


def find_qemu(folder: Path) -> Path:
    """QEMU's emulator of processes: the one that is installed, or Debian's, unpacked."""
    for name in QEMU:
        found = shutil.which(name)
        if found:
            return Path(found)
    own = folder / "qemu/usr/bin" / QEMU[0]
    if not own.exists():
        if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
            raise Missing(f"{QEMU[0]} is not installed (in Debian it is in qemu-user-static)")
        folder.mkdir(parents=True, exist_ok=True)
        command = ["apt-get", "download", "qemu-user-static"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        files = list(folder.glob("qemu-user-static_*.deb"))
        if done.returncode or not files:
            raise Missing(f"{QEMU[0]} is neither installed nor to be had: {done.stderr.strip()}")
        unpack = ["dpkg-deb", "--extract", str(files[0]), str(folder / "qemu")]
        subprocess.run(unpack, check=True)
    return own


def install_wheels(folder: Path, requirements: list[str]) -> Path:
    """Wheels of PyPI for arm64 in a folder of their own."""
    target = folder / "wheels"
    stamp = target / ".requirements"
    said = "\n".join(requirements)
    if stamp.exists() and stamp.read_text(encoding="utf-8") == said:
        return target
    shutil.rmtree(target, ignore_errors=True)
    command = [
        sys.executable, "-m", "pip", "install", "--quiet", "--target", str(target),
        "--python-version", PYTHON.removeprefix("python"), "--implementation", "cp",
        "--only-binary=:all:", *(f"--platform={each}" for each in PLATFORMS), *requirements,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Missing(f"PyPI's wheels for arm64: {done.stderr.strip()}")
    stamp.write_text(said, encoding="utf-8")
    return target


def make_python(folder: Path, requirements: list[str]) -> Path:
    """A command that is Python for arm64, with packages; programs may start it again."""
    qemu, root = find_qemu(folder), unpack_python(folder)
    wheels = install_wheels(folder, requirements)
    command = folder / "python"
    # Without a handler for such programs in the kernel, a script starts the emulator. Python gets
    # the script's name, so that `sys.executable` can be started, too.
    command.write_text(
        "#!/bin/sh\n"
        f'exec "{qemu}" -L "{root}" -0 "{command}" -E PYTHONPATH="{wheels}:$PYTHONPATH" '
        f'"{root}/usr/bin/{PYTHON}" "$@"\n',
        encoding="utf-8",
    )
    command.chmod(0o755)
    return command
