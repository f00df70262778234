"""What libraries call in PyTorch's compiled part though it is not public."""

from clew._C.names import *  # noqa: F403  (names are found here)


def _log_api_usage_once(event: str) -> None:
    """PyTorch reports which of its parts are in use; clew reports nothing."""
