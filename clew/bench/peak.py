"""The peak memory of train steps, measured in a process of its own.

The text of this file is run as a program, `python -c TEXT ENGINE MODELS_FILE NETWORK`, and prints
one JSON object in MiB. It imports nothing of clew: what `import clew` sets in the C library's
allocator would hold for PyTorch, too.

What counts is how far building a network and ten steps raise the process's high-water mark over
what it holds when the library and its kernels are loaded. Code is not the tensors' memory, and each
library has its own way to load it (shared objects page by page, or compiled code from a cache), so
the same steps run before, with a network that is then dropped and its memory given back.
"""

import contextlib
import ctypes
import gc
import importlib
import importlib.util
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

WARM_UP, STEPS = 2, 10
# So many losses are compared between the engines; later ones drift apart by rounding.
ANSWERS = 3
_STATM, _CLEAR_REFS = Path("/proc/self/statm"), Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")
MIB = 2**20


def measure(t: Any, make: Any) -> dict[str, Any]:
    """The growth of the peak by steps of the network that `make` builds, in MiB."""
    imported = resident()
    _train(t, make, WARM_UP)
    _free_unused_memory()
    loaded = resident()
    _forget_peak()
    losses = _train(t, make, STEPS)
    return {
        "mib": (peak() - loaded) / MIB,
        "imported_mib": imported / MIB,
        "loaded_mib": (loaded - imported) / MIB,
        "answer": losses[:ANSWERS],
    }


def _train(t: Any, make: Any, steps: int) -> list[float]:
    t.manual_seed(0)
    training = make(t)
    losses = []
    for _ in range(steps):
        training.optimizer.zero_grad()
        loss = training.loss(training.forward())
        loss.backward()
        training.optimizer.step()
        losses.append(float(loss.detach()))
    return losses


def _free_unused_memory() -> None:
    """Return unused memory to the system, cached blocks too."""
    gc.collect()
    allocator = sys.modules.get("clew.kernels.runtime.aligned_allocator")
    if allocator is not None:
        allocator.empty_cache()
    library = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):
        library.malloc_trim(0)


def resident() -> int:
    """The bytes of memory that this process holds now."""
    if _STATM.exists():
        return int(_STATM.read_text().split()[1]) * resource.getpagesize()
    done = subprocess.run(["ps", "-o", "rss=", "-p", str(os.getpid())], stdout=subprocess.PIPE)
    return int(done.stdout) * 1024


def peak() -> int:
    """The most bytes that this process held since the peak was forgotten, or ever."""
    if _STATUS.exists():
        (line,) = [each for each in _STATUS.read_text().splitlines() if each.startswith("VmHWM")]
        return int(line.split()[1]) * 1024
    # The kernel reports kibibytes, but bytes on macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _forget_peak() -> None:
    """Begin a new high-water mark; where it is not allowed, that of the same steps before stays."""
    with contextlib.suppress(OSError):  # as said above
        _CLEAR_REFS.write_text("5")


def main() -> None:
    engine, models_file, network = sys.argv[1:]
    t = importlib.import_module(engine)
    spec = importlib.util.spec_from_file_location("models", models_file)
    assert spec is not None and spec.loader is not None
    models = sys.modules["models"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(models)
    print(json.dumps(measure(t, models.MODELS[network])))


if __name__ == "__main__":
    main()
