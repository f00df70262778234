"""`StreamWrapper`: an open file that is closed with its object."""

from __future__ import annotations

from typing import Any

__all__ = ["StreamWrapper"]


class StreamWrapper:
    """An open file that is closed when its object goes.

    Args:
        file_obj: the file
    """

    def __init__(self, file_obj: Any, parent_stream: Any = None, name: str | None = None) -> None:
        self.file_obj, self.name = file_obj, name

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["file_obj"], name)

    def close(self) -> None:
        """Close the file."""
        self.file_obj.close()

    def __del__(self) -> None:
        self.file_obj.close()
