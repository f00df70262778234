"""Switches for how modules replace their parameters, as PyTorch will do it one day."""

from __future__ import annotations


class _Switches:
    overwrite = False
    swap = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Let conversions of a module, such as `module.double()`, make new parameters.

    Without this, parameters stay the objects that they are and get other data.

    Args:
        value: whether to

    Example:
        >>> layer = nn.Linear(2, 2)
        >>> weight = layer.weight
        >>> clew.__future__.set_overwrite_module_params_on_conversion(True)
        >>> layer.double().weight is weight
        False
        >>> clew.__future__.set_overwrite_module_params_on_conversion(False)
    """
    _Switches.overwrite = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Whether conversions of a module make new parameters.

    Example:
        >>> clew.__future__.get_overwrite_module_params_on_conversion()
        False
    """
    return _Switches.overwrite


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Let conversions of a module and `load_state_dict` use `clew.utils.swap_tensors`.

    Parameters stay the objects that they are and become what the new tensors were. This goes before
    `set_overwrite_module_params_on_conversion`.

    Args:
        value: whether to

    Example:
        >>> layer = nn.Linear(2, 2)
        >>> weight = layer.weight
        >>> clew.__future__.set_swap_module_params_on_conversion(True)
        >>> layer.double().weight is weight
        True
        >>> clew.__future__.set_swap_module_params_on_conversion(False)
    """
    _Switches.swap = value


def get_swap_module_params_on_conversion() -> bool:
    """Whether conversions of a module and `load_state_dict` swap tensors.

    Example:
        >>> clew.__future__.get_swap_module_params_on_conversion()
        False
    """
    return _Switches.swap
