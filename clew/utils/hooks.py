"""What registering a hook returns, under the name by which programs import it."""

from clew.core.node import RemovableHandle

__all__ = ["RemovableHandle"]
