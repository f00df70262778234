"""The old place of `clew.hub.load_state_dict_from_url`."""

from clew.hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]
