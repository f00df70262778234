"""What libraries call in PyTorch's compiled part though it is not public."""


def _log_api_usage_once(event: str) -> None:
    """PyTorch reports which of its parts are in use; clew reports nothing."""


from clew._C.names import *  # noqa: E402, F403  (names are found here)
