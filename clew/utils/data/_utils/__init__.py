"""The parts of the loader: collating, fetching, worker processes and the channel to them."""

from clew.utils.data._utils import channel, collate, fetch, pin_memory, signal_handling, worker

__all__ = ["channel", "collate", "fetch", "pin_memory", "signal_handling", "worker"]

HAS_NUMPY = True
# Loaders of other packages ask it when they are finalized; clew's own end by `weakref.finalize`.
python_exit_status = False
# Seconds that a loader waits before it looks whether its workers live.
MP_STATUS_CHECK_INTERVAL = 5.0
