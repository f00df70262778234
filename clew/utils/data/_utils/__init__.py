"""The parts of the loader: collating, fetching, worker processes and the channel to them."""

from clew.utils.data._utils import channel, collate, fetch, worker

__all__ = ["channel", "collate", "fetch", "worker"]
