"""What compiled code needs to run: JIT, code cache, object loader, thread pool, allocators."""

from typing import TYPE_CHECKING

from clew.aliasing import on_request

if TYPE_CHECKING:
    from clew.kernels.runtime import (
        async_jobs,
        command_interpreter,
        object_loader,
        optimization_levels,
        thread_pool,
    )

# Imported when they are first asked for, so that `import clew` is quick.
__all__ = [
    "async_jobs",
    "command_interpreter",
    "object_loader",
    "optimization_levels",
    "thread_pool",
]

__getattr__, __dir__ = on_request(__name__, __all__)
