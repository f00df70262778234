"""What registering a hook returns, under the name by which programs import it."""

from clew.core.hooks import RemovableHandle

__all__ = ["RemovableHandle"]
