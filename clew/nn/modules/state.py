"""Module's state dict: what it saves, under which keys, and how it is loaded back."""

from __future__ import annotations

import itertools
import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from clew.__future__ import get_swap_module_params_on_conversion
from clew.autograd.grad_mode import no_grad
from clew.autograd.swapping import swap_tensors
from clew.core.hooks import RemovableHandle
from clew.core.tensor import Tensor
from clew.nn.modules.hooks import Hook, HookDict, _WrappedHook, add_hook
from clew.nn.parameter import Parameter, is_lazy
from clew.observer import active

if TYPE_CHECKING:
    from clew.nn.modules.module import Module

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What `load_state_dict` did not find, and what it did not know."""

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class StateMethods:
    """Module's methods around its state dict."""

    # Modules whose saved form has changed count it, to load older files.
    _version: int = 1

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: HookDict
    _state_dict_pre_hooks: HookDict
    _load_state_dict_pre_hooks: HookDict
    _load_state_dict_post_hooks: HookDict

    # -- more than tensors -------------------------------------------------------------------

    def get_extra_state(self) -> Any:
        """What else belongs into the state dict; override together with `set_extra_state`."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called. Only a "
            f"subclass that overrides it has extra state; {type(self).__name__} does not."
        )

    def set_extra_state(self, state: Any) -> None:
        """Take back what `get_extra_state` gave."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called. Only a "
            f"subclass that overrides it has extra state; {type(self).__name__} does not."
        )

    # -- saving --------------------------------------------------------------------------------

    def state_dict(
        self,
        *args: Any,
        destination: Any = None,
        prefix: str = "",
        keep_vars: bool = False,
    ) -> Any:
        """All parameters and persistent buffers by dotted name, detached but sharing memory."""
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html"
                "#torch.nn.Module.state_dict for details.",
                FutureWarning,
                stacklevel=2,
            )
            # A keyword wins over a position only where the position is missing.
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        if destination is None:
            destination = OrderedDict()
            # The version of each module, by its path.
            destination._metadata = OrderedDict()
        own_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = own_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, own_metadata)
            if result is None:
                continue
            if getattr(hook, "_from_public_api", False):
                raise RuntimeError("state_dict post-hook must return None")
            destination = result
        observer = active.observer
        if observer is not None and not (prefix or keep_vars):
            observer.state_dict_taken(self, destination)
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Save this module's own tensors; submodules come after."""
        for name, tensor in self._saved_tensors():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if _overrides(self, "get_extra_state"):
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def _saved_tensors(self) -> Iterator[tuple[str, Tensor]]:
        persistent = (
            item
            for item in self._buffers.items()
            if item[0] not in self._non_persistent_buffers_set
        )
        for name, tensor in itertools.chain(self._parameters.items(), persistent):
            if tensor is not None:
                yield name, tensor

    # -- loading -------------------------------------------------------------------------------

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy the tensors of a state dict into this module's, or put them in place of them."""
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        observer = active.observer
        if observer is not None:
            observer.state_dict_loaded(self, state_dict)
        metadata = getattr(state_dict, "_metadata", None)
        # A copy, because `_load_from_state_dict` may rename keys.
        copied: Any = OrderedDict(state_dict)
        if metadata is not None:
            copied._metadata = metadata
        keys = _IncompatibleKeys([], [])
        problems: list[str] = []
        _load(cast("Module", self), copied, "", metadata, assign, keys, problems)
        if strict:
            listed = [
                (f"{what} key(s) in state_dict: ", names)
                for what, names in (("Missing", keys[0]), ("Unexpected", keys[1]))
                if names
            ]
            problems[:0] = [
                text + ", ".join(f'"{name}"' for name in names) + ". " for text, names in listed
            ]
        if problems:
            listing = "\n\t".join(problems)
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listing}"
            )
        return keys

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load this module's own tensors; problems go into the lists."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(
                state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
                error_msgs,
            )  # fmt: skip
        assign = local_metadata.get("assign_to_params_buffers", False)
        own = dict(self._saved_tensors())
        for name, tensor in own.items():
            key = prefix + name
            if key in state_dict:
                problem = self._load_tensor(name, key, tensor, state_dict[key], assign)
                if problem:
                    error_msgs.append(problem)
            elif strict:
                missing_keys.append(key)
        extra_key = prefix + _EXTRA_STATE_KEY_SUFFIX
        if _overrides(self, "set_extra_state"):
            if extra_key in state_dict:
                self.set_extra_state(state_dict[extra_key])
            elif strict:
                missing_keys.append(extra_key)
        elif strict and extra_key in state_dict:
            unexpected_keys.append(extra_key)
        if strict:
            unexpected_keys += self._unknown_keys(state_dict, prefix, own, extra_key)

    def _unknown_keys(
        self, state_dict: Any, prefix: str, own: dict[str, Tensor], extra_key: str
    ) -> Iterator[str]:
        for key in state_dict:
            if key.startswith(prefix) and key != extra_key:
                first, dot, _ = key[len(prefix) :].partition(".")
                if first not in (self._modules if dot else own):
                    yield key

    def _load_tensor(self, name: str, key: str, tensor: Tensor, given: Any, assign: bool) -> str:
        """Load one tensor; returns what is wrong with it, or nothing."""
        if not isinstance(given, Tensor):
            return (
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like '
                f"object from checkpoint but received {type(given)}"
            )
        if not is_lazy(tensor):
            if tensor.ndim == 0 and given.ndim == 1 and given.shape[0] == 1:
                given = given[0]  # older files hold numbers as vectors of one
            if given.shape != tensor.shape:
                return (
                    f"size mismatch for {key}: copying a param with shape {given.shape} from "
                    f"checkpoint, the shape in current model is {tensor.shape}."
                )
        elif is_lazy(given):
            return ""  # both wait for their shape
        try:
            with no_grad():
                if get_swap_module_params_on_conversion():
                    _swap_for_loaded(tensor, given, assign)
                elif assign:
                    setattr(self, name, _like_registered(given, tensor))
                else:
                    tensor.copy_(given)
        except Exception as error:
            doing = "swapping" if get_swap_module_params_on_conversion() else "copying"
            return (
                f'While {doing} the parameter named "{key}", whose dimensions in the model are '
                f"{tensor.size()} and whose dimensions in the checkpoint are {given.size()}, an "
                f"exception occurred : {error.args}."
            )
        return ""

    # -- hooks ---------------------------------------------------------------------------------

    def register_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before the state dict is made."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after; it changes in place."""
        hook._from_public_api = True  # type: ignore[attr-defined]  # read in state_dict
        return add_hook(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Hook) -> RemovableHandle:
        """The same for hooks that may return another dict."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously "
                "registered via register_state_dict_post_hook"
            )
        return add_hook(self._state_dict_hooks, hook)

    def _register_load_state_dict_pre_hook(
        self, hook: Hook, with_module: bool = False
    ) -> RemovableHandle:
        """Call `hook(state_dict, prefix, local_metadata, ...)` before this module loads."""
        bound = _WrappedHook(hook, self) if with_module else hook
        return add_hook(self._load_state_dict_pre_hooks, bound)

    def register_load_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata, ...)` before this module loads."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after this module has loaded."""
        return add_hook(self._load_state_dict_post_hooks, hook)


def _overrides(module: StateMethods, method: str) -> bool:
    return getattr(type(module), method) is not getattr(StateMethods, method)


def _swap_for_loaded(tensor: Tensor, given: Tensor, assign: bool) -> None:
    """Let a tensor become what it makes itself of a loaded one."""
    loaded = tensor.module_load(given, assign=assign)
    if loaded is given or loaded is tensor:
        raise RuntimeError(
            "module_load returned one of self or other, please .detach() the result if returning "
            "one of the inputs in module_load"
        )
    swap_tensors(tensor, _like_registered(loaded, tensor))


def _like_registered(given: Tensor, tensor: Tensor) -> Tensor:
    """A loaded tensor in the role of the one that it replaces."""
    if not isinstance(tensor, Parameter):
        return given
    if isinstance(given, Parameter):
        return given.requires_grad_(tensor.requires_grad)
    return Parameter(given, requires_grad=tensor.requires_grad)


def _load(
    module: Module,
    state_dict: Mapping[str, Any],
    prefix: str,
    metadata: Mapping[str, dict[str, Any]] | None,
    assign: bool,
    keys: _IncompatibleKeys,
    problems: list[str],
) -> None:
    """Load a module, then its children, each with its part of the state dict."""
    own_metadata = {} if metadata is None else dict(metadata.get(prefix[:-1], {}))
    if assign:
        own_metadata["assign_to_params_buffers"] = assign
    # Always strictly: the lists are filled in any case, and judged at the end.
    module._load_from_state_dict(state_dict, prefix, own_metadata, True, *keys, problems)
    for name, child in module._modules.items():
        if child is not None:
            start = f"{prefix}{name}."
            part = {key: value for key, value in state_dict.items() if key.startswith(start)}
            _load(child, part, start, metadata, assign, keys, problems)
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, keys) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to "
                "return new values, if incompatible_keys need to be modified, it should be done "
                "inplace."
            )
