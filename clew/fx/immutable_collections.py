"""Lists and dicts that cannot be changed: the arguments of nodes are kept in them."""

from __future__ import annotations

from typing import Any, NoReturn

from clew import errors

__all__ = ["immutable_dict", "immutable_list"]


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(
        f"'{type(self).__name__}' object does not support mutation. If you are attempting to "
        "modify the kwargs or args of a torch.fx.Node object,\n  make a changed copy and assign "
        "it: node.args = (...)" + errors.at_user_line()
    )


class immutable_list(list[Any]):
    """A list that refuses every change.

    Example:
        >>> clew.fx.immutable_collections.immutable_list([1, 2])
        [1, 2]
    """

    append = extend = insert = pop = remove = reverse = sort = clear = _refuse
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]  # lists have none, as they change
        return hash(tuple(self))

    def __reduce__(self) -> Any:
        return immutable_list, (tuple(self),)


class immutable_dict(dict[Any, Any]):
    """A dict that refuses every change.

    Example:
        >>> clew.fx.immutable_collections.immutable_dict(a=1)
        {'a': 1}
    """

    clear = pop = popitem = update = setdefault = _refuse
    __setitem__ = __delitem__ = __ior__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]  # dicts have none, as they change
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return immutable_dict, (dict(self),)
