"""`CheckpointException`: what went wrong on which ranks."""

from __future__ import annotations

__all__ = ["CheckpointException"]


class CheckpointException(BaseException):
    """Errors of several ranks while they saved or loaded together.

    Args:
        msg: what was done
        failures: the error of each rank that had one
    """

    def __init__(self, msg: str, failures: dict[int, BaseException]) -> None:
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self) -> dict[int, BaseException]:
        """The error of each rank that had one."""
        return self._failures

    def __str__(self) -> str:
        lines = [f"CheckpointException ranks:{list(self._failures)}"]
        for rank, error in self._failures.items():
            lines.append(f"  rank {rank}: {type(error).__name__}: {error}")
        return "\n".join(lines)
