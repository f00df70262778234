"""Weights and models from elsewhere: files from an address, models from a folder.

Code is loaded only from folders on this machine: programs of others are not fetched and run.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import urllib.request
from types import ModuleType
from typing import Any, NoReturn
from urllib.parse import urlparse

from clew import errors
from clew.aliasing import missing_name
from clew.serialization import load as _load

__all__ = [
    "download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url",
    "set_dir",
]  # fmt: skip

# Public packages use these names.
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
ENV_GITHUB_TOKEN = "GITHUB_TOKEN"
ENV_TORCH_HOME = "TORCH_HOME"
ENV_XDG_CACHE_HOME = "XDG_CACHE_HOME"
DEFAULT_CACHE_DIR = "~/.cache"
READ_DATA_CHUNK = 128 * 1024
MODULE_HUBCONF = "hubconf.py"
_chosen_dir: str | None = None


def __getattr__(name: str) -> Any:
    if name == "tqdm":  # that of the package, which public packages take from here
        return importlib.import_module("tqdm").tqdm
    return missing_name(sys.modules[__name__], name)


def get_dir() -> str:
    """Where files are kept: what `set_dir` was given, or PyTorch's folder.

    That is $TORCH_HOME/hub, and $XDG_CACHE_HOME/torch/hub if TORCH_HOME is not set.

    Example:
        >>> clew.hub.get_dir()
        '...hub'
    """
    if _chosen_dir is not None:
        return _chosen_dir
    return os.path.join(_get_torch_home(), "hub")


def _get_torch_home() -> str:
    cache = os.environ.get(ENV_XDG_CACHE_HOME, DEFAULT_CACHE_DIR)
    return os.path.expanduser(os.environ.get(ENV_TORCH_HOME, os.path.join(cache, "torch")))


def set_dir(d: str | os.PathLike[str]) -> None:
    """Choose where files are kept.

    Args:
        d: the folder

    Example:
        >>> before = clew.hub.get_dir()
        >>> clew.hub.set_dir("models")
        >>> clew.hub.get_dir()
        'models'
        >>> clew.hub.set_dir(before)
    """
    global _chosen_dir
    _chosen_dir = os.path.expanduser(d)


def download_url_to_file(
    url: str, dst: str, hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Fetch a file; it is at its place once all of it has arrived and has the right hash.

    Args:
        url: the address
        dst: the path of the file
        hash_prefix: the first digits of its SHA-256; RuntimeError if it has another
        progress: accepted; no bar is shown

    Example:
        >>> from pathlib import Path
        >>> _ = Path("there").write_text("weights")
        >>> clew.hub.download_url_to_file(Path("there").absolute().as_uri(), "here")
        >>> Path("here").read_text()
        'weights'
    """
    folder = os.path.dirname(os.path.abspath(os.path.expanduser(dst)))
    request = urllib.request.Request(url, headers={"User-Agent": "clew.hub"})
    with (
        urllib.request.urlopen(request) as source,
        tempfile.NamedTemporaryFile(dir=folder, delete=False) as file,
    ):
        try:
            shutil.copyfileobj(source, file)
            file.flush()
            if hash_prefix is not None:
                _check_hash(file.name, hash_prefix)
            os.replace(file.name, os.path.expanduser(dst))
        except BaseException:  # an interrupted download too leaves no file
            os.unlink(file.name)
            raise


def _check_hash(path: str, prefix: str) -> None:
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if not digest.startswith(prefix):
        raise RuntimeError(f'invalid hash value (expected "{prefix}", got "{digest}")')


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> Any:
    """Load a file from an address; it is fetched once and then kept.

    Args:
        url: the address
        model_dir: the folder for the file; by default, `get_dir()` + "/checkpoints"
        map_location: as in `load`
        progress: accepted; no bar is shown
        check_hash: whether the name ends in the first digits of its SHA-256, as `name-01ab.pth`
        file_name: the name of the file; by default, as in the address
        weights_only: as in `load`

    Example:
        >>> from pathlib import Path
        >>> clew.save({"weight": clew.ones(2)}, "model.pth")
        >>> url = Path("model.pth").absolute().as_uri()
        >>> clew.hub.load_state_dict_from_url(url, model_dir=".", progress=False)
        {'weight': tensor([1., 1.])}
    """
    folder = model_dir or os.path.join(get_dir(), "checkpoints")
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        sys.stderr.write(f'Downloading: "{url}" to {path}\n')
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, found[1] if found else None, progress)
    return _load(path, map_location=map_location, weights_only=weights_only)


def _refuse_github(repository: str) -> NoReturn:
    raise RuntimeError(
        f"torch.hub: clew does not fetch and run code from GitHub ({repository}). Clone the "
        "repository, and load from its folder: torch.hub.load(folder, name, source='local')."
        + errors.at_user_line()
    )


def _hubconf(folder: str) -> ModuleType:
    path = os.path.join(os.path.expanduser(folder), "hubconf.py")
    spec = importlib.util.spec_from_file_location("hubconf", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, os.path.dirname(path))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(os.path.dirname(path))
    return module


def load(
    repo_or_dir: str,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: Any = "check",
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """What the function `model` of the folder's hubconf.py returns (only `source="local"`).

    Args:
        repo_or_dir: the folder
        model: the name of a function in its hubconf.py
        args: the arguments of the function
        source: "local"; "github", the default, raises: code is not fetched
        trust_repo, force_reload, verbose, skip_validation: accepted; they are about GitHub
        kwargs: the keyword arguments of the function

    Example:
        >>> from pathlib import Path
        >>> _ = Path("hubconf.py").write_text("def double(x): return 2 * x")
        >>> clew.hub.load(".", "double", 21, source="local")
        42
    """
    if source == "github":
        _refuse_github(repo_or_dir)
    if source != "local":
        raise ValueError(
            f'Unknown source: "{source}". Allowed values: "github" | "local".'
            + errors.at_user_line()
        )
    entry = getattr(_hubconf(repo_or_dir), model, None)
    if not callable(entry):
        raise RuntimeError(f"Cannot find callable {model} in hubconf" + errors.at_user_line())
    return entry(*args, **kwargs)


def list(github: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Raises: code is not fetched.

    Args:
        github: the name of a repository

    Example:
        >>> clew.hub.list("owner/name")
        Traceback (most recent call last):
        ...
        RuntimeError: torch.hub: clew does not fetch and run code from GitHub (owner/name)...
    """
    _refuse_github(github)


def help(github: str, model: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Raises: code is not fetched.

    Args:
        github: the name of a repository
        model: the name of a function in it

    Example:
        >>> clew.hub.help("owner/name", "resnet")
        Traceback (most recent call last):
        ...
        RuntimeError: torch.hub: clew does not fetch and run code from GitHub (owner/name)...
    """
    _refuse_github(github)
