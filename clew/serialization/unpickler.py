"""Reads pickles without running anything that they name.

A pickle is a program for a small stack machine. This one executes the instructions that build data
(numbers, strings, containers) itself, and asks a `Policy` about everything else: which names there
are, what may be called, and what may be given a state. It knows no instruction that imports.
"""

from __future__ import annotations

import pickle
import struct
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

UnpicklingError = pickle.UnpicklingError


class Policy(Protocol):
    """What a pickle may refer to."""

    def find(self, module: str, name: str) -> Any:
        """The object of that name, or an error that names it."""

    def call(self, function: Any, args: tuple[Any, ...]) -> Any: ...

    def make(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A new instance, without its state."""

    def give_state(self, instance: Any, state: Any) -> None: ...

    def load_persistent(self, identity: Any) -> Any:
        """The storage that a persistent identity stands for."""


# The sizes and nesting of keys are limited: hashing goes through all of a key, every time.
_LARGEST_KEY = 10_000
_PLAIN_KEYS = frozenset({str, int, float, bool, bytes, type(None)})

# A pickle of few bytes can make much: values that it has made before can be copied again and again.
# So the memory that it uses is bounded by the size of its file.
_FREE_MEMORY, _MEMORY_RATIO = 1 << 24, 50
_TOO_LARGE = "the pickle makes objects that are out of all proportion to the size of its file"
# What an item of a container needs, about, and what an instruction makes.
_ITEM = 80
_COSTS = [8] * 256
for _code, _cost in (
    (pickle.EMPTY_SET, 216), (pickle.FROZENSET, 216), (pickle.EMPTY_DICT, 64), (pickle.MARK, 64),
    (pickle.EMPTY_LIST, 56), (pickle.TUPLE, 48), (pickle.TUPLE1, 48), (pickle.TUPLE2, 56),
    (pickle.TUPLE3, 64), (pickle.MEMOIZE, 100), (pickle.BINPUT, 100), (pickle.LONG_BINPUT, 100),
    (pickle.SETITEM, 100), (pickle.BYTEARRAY8, 56), (pickle.SHORT_BINBYTES, 40),
    (pickle.SHORT_BINUNICODE, 56), (pickle.SHORT_BINSTRING, 56), (pickle.LONG1, 32),
    (pickle.BINFLOAT, 32), (pickle.BININT, 32),
):  # fmt: skip
    _COSTS[_code[0]] = _cost


def _weight(values: Any) -> int:
    """About how much memory it takes to copy each of some values, but not what is in them."""
    if isinstance(values, dict):
        return _ITEM * len(values)
    if not isinstance(values, tuple | list):
        return 0
    size = 0
    for value in values:
        if isinstance(value, str | bytes | bytearray):
            size += len(value)
        elif isinstance(value, list | tuple | dict | set | frozenset | deque):
            size += _ITEM * len(value)
    return size


_handlers: dict[int, Callable[[Any], None]] = {}


def _on(*opcodes: bytes) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    def register(handler: Callable[[Any], None]) -> Callable[[Any], None]:
        for opcode in opcodes:
            _handlers[opcode[0]] = handler
        return handler

    return register


class Unpickler:
    """One pickle inside a buffer; `position` is where it ends once it is loaded."""

    def __init__(
        self,
        data: bytes,
        policy: Policy,
        file_size: int,
        start: int = 0,
        encoding: str = "utf-8",
    ) -> None:
        self.data = data
        # Bytes of memory that the pickle may still use, about.
        self.left = _FREE_MEMORY + _MEMORY_RATIO * file_size
        self.position = start
        self.policy = policy
        self.encoding = encoding
        self.stack: list[Any] = []
        self.marks: list[list[Any]] = []
        self.memo: dict[int, Any] = {}

    def load(self) -> Any:
        data, handlers, costs = self.data, _handlers, _COSTS
        while True:
            if self.position >= len(data):
                raise UnpicklingError("the pickle ends before its end was marked")
            opcode = data[self.position]
            self.position += 1
            if opcode == pickle.STOP[0]:
                return self.pop()
            handler = handlers.get(opcode)
            if handler is None:
                raise UnpicklingError(f"Unsupported operand {opcode}")
            self.left -= costs[opcode]
            if self.left < 0:
                raise UnpicklingError(_TOO_LARGE)
            handler(self)

    def spend(self, size: int) -> None:
        """Note that so much memory will be used."""
        self.left -= size
        if self.left < 0:
            raise UnpicklingError(_TOO_LARGE)

    # -- pieces of the input -----------------------------------------------------------------

    def take(self, size: int) -> bytes:
        end = self.position + size
        if size < 0 or end > len(self.data):
            raise UnpicklingError("the pickle is cut off")
        piece = self.data[self.position : end]
        self.position = end
        return piece

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def line(self) -> str:
        end = self.data.find(b"\n", self.position)
        if end < 0:
            raise UnpicklingError("the pickle is cut off inside a name")
        text = self.data[self.position : end].decode()
        self.position = end + 1
        return text

    # -- the stack ---------------------------------------------------------------------------

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def pop(self) -> Any:
        if not self.stack:
            raise UnpicklingError("the pickle takes a value from an empty stack")
        return self.stack.pop()

    def top(self) -> Any:
        if not self.stack:
            raise UnpicklingError("the pickle looks at the top of an empty stack")
        return self.stack[-1]

    def since_mark(self) -> list[Any]:
        if not self.marks:
            raise UnpicklingError("the pickle has no mark")
        items, self.stack = self.stack, self.marks.pop()
        return items

    def remember(self, index: int) -> None:
        self.memo[index] = self.top()

    def recall(self, index: int) -> None:
        if index not in self.memo:
            raise UnpicklingError(f"the pickle refers to value {index}, which it did not define")
        self.push(self.memo[index])


def check_key(key: Any) -> None:
    """Refuse keys whose hash would take forever or overflow the machine's stack."""
    if type(key) in _PLAIN_KEYS:
        return
    pending, seen = [key], 0
    while pending:
        each = pending.pop()
        if isinstance(each, tuple | frozenset):
            seen += 1 + len(each)
            if seen > _LARGEST_KEY:
                raise UnpicklingError(f"a key is nested too deeply: over {_LARGEST_KEY} parts")
            pending.extend(each)


def described(value: Any) -> str:
    """A value of a file for a message: the text of nested ones could be longer than memory."""
    if isinstance(value, type):
        return value.__name__
    if value is None or isinstance(value, str | int | float):
        return repr(value)[:80]
    return f"a {type(value).__name__}"


# -- numbers, strings, bytes ---------------------------------------------------------------------


@_on(pickle.PROTO)
def _protocol(self: Unpickler) -> None:
    version = self.take(1)[0]
    if version > pickle.HIGHEST_PROTOCOL:
        raise UnpicklingError(f"unsupported pickle protocol: {version}")


@_on(pickle.FRAME)
def _frame(self: Unpickler) -> None:
    self.take(8)


def _pushes(value: Any) -> Callable[[Any], None]:
    return lambda self: self.push(value)


def _pushes_number(form: str) -> Callable[[Any], None]:
    return lambda self: self.push(self.number(form))


for _opcode, _value in (
    (pickle.NONE, None),
    (pickle.NEWTRUE, True),
    (pickle.NEWFALSE, False),
    (pickle.EMPTY_TUPLE, ()),
):
    _handlers[_opcode[0]] = _pushes(_value)

for _opcode, _form in (
    (pickle.BININT, "<i"),
    (pickle.BININT1, "<B"),
    (pickle.BININT2, "<H"),
    (pickle.BINFLOAT, ">d"),
):
    _handlers[_opcode[0]] = _pushes_number(_form)


@_on(pickle.LONG1, pickle.LONG4)
def _long(self: Unpickler) -> None:
    wide = self.data[self.position - 1] == pickle.LONG4[0]
    size = self.number("<i" if wide else "<B")
    self.push(int.from_bytes(self.take(size), "little", signed=True))


_SIZE_FORMS = {
    pickle.BINUNICODE: "<I", pickle.SHORT_BINUNICODE: "<B", pickle.BINUNICODE8: "<Q",
    pickle.BINSTRING: "<i", pickle.SHORT_BINSTRING: "<B",
    pickle.BINBYTES: "<I", pickle.SHORT_BINBYTES: "<B", pickle.BINBYTES8: "<Q",
    pickle.BYTEARRAY8: "<Q",
}  # fmt: skip
_SIZE_FORM_OF = {opcode[0]: form for opcode, form in _SIZE_FORMS.items()}


def _sized(self: Unpickler) -> bytes:
    return self.take(self.number(_SIZE_FORM_OF[self.data[self.position - 1]]))


@_on(pickle.BINUNICODE, pickle.SHORT_BINUNICODE, pickle.BINUNICODE8)
def _text(self: Unpickler) -> None:
    self.push(_sized(self).decode("utf-8", "surrogatepass"))


@_on(pickle.BINSTRING, pickle.SHORT_BINSTRING)
def _python2_string(self: Unpickler) -> None:
    raw = _sized(self)
    self.push(raw if self.encoding == "bytes" else raw.decode(self.encoding))


@_on(pickle.BINBYTES, pickle.SHORT_BINBYTES, pickle.BINBYTES8)
def _bytes(self: Unpickler) -> None:
    self.push(_sized(self))


@_on(pickle.BYTEARRAY8)
def _bytearray(self: Unpickler) -> None:
    self.push(bytearray(_sized(self)))


# -- containers ------------------------------------------------------------------------------------


@_on(pickle.MARK)
def _mark(self: Unpickler) -> None:
    self.marks.append(self.stack)
    self.stack = []


@_on(pickle.POP)
def _pop(self: Unpickler) -> None:
    if self.stack:
        self.stack.pop()
    else:
        self.since_mark()


@_on(pickle.POP_MARK)
def _pop_mark(self: Unpickler) -> None:
    self.since_mark()


@_on(pickle.DUP)
def _duplicate(self: Unpickler) -> None:
    self.push(self.top())


@_on(pickle.TUPLE)
def _tuple(self: Unpickler) -> None:
    items = self.since_mark()
    self.push(tuple(items))


@_on(pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3)
def _short_tuple(self: Unpickler) -> None:
    size = self.data[self.position - 1] - pickle.TUPLE1[0] + 1
    items = [self.pop() for _ in range(size)]
    self.push(tuple(items[::-1]))


@_on(pickle.EMPTY_LIST)
def _empty_list(self: Unpickler) -> None:
    self.push([])


@_on(pickle.EMPTY_DICT)
def _empty_dict(self: Unpickler) -> None:
    self.push({})


@_on(pickle.EMPTY_SET)
def _empty_set(self: Unpickler) -> None:
    self.push(set())


def _container(self: Unpickler, what: str, *kinds: type) -> Any:
    target = self.top()
    if not isinstance(target, kinds):
        raise UnpicklingError(f"Can only {what}, but got {type(target)}")
    return target


@_on(pickle.APPEND)
def _append(self: Unpickler) -> None:
    item = self.pop()
    _container(self, "append to lists", list, deque).append(item)


@_on(pickle.APPENDS)
def _appends(self: Unpickler) -> None:
    items = self.since_mark()
    _container(self, "extend lists", list, deque).extend(items)


def _set_items(self: Unpickler, items: list[Any], opcode: str) -> None:
    self.spend(50 * len(items))
    words = f"{opcode} for dict, collections.OrderedDict, collections.Counter"
    target = _container(self, words, dict)
    if len(items) % 2:
        raise UnpicklingError("the pickle has a key without a value")
    for key, value in zip(items[::2], items[1::2]):
        check_key(key)
        target[key] = value


@_on(pickle.SETITEM)
def _set_item(self: Unpickler) -> None:
    value, key = self.pop(), self.pop()
    _set_items(self, [key, value], "SETITEM")


@_on(pickle.SETITEMS)
def _set_many_items(self: Unpickler) -> None:
    _set_items(self, self.since_mark(), "SETITEMS")


def _keys_since_mark(self: Unpickler) -> list[Any]:
    items = self.since_mark()
    for item in items:
        check_key(item)
    return items


@_on(pickle.ADDITEMS)
def _add_items(self: Unpickler) -> None:
    items = _keys_since_mark(self)
    self.spend(50 * len(items))
    _container(self, "add to sets", set).update(items)


@_on(pickle.FROZENSET)
def _frozenset(self: Unpickler) -> None:
    self.push(frozenset(_keys_since_mark(self)))


# -- values that occur again -----------------------------------------------------------------------


@_on(pickle.BINPUT)
def _put(self: Unpickler) -> None:
    self.remember(self.number("<B"))


@_on(pickle.LONG_BINPUT)
def _long_put(self: Unpickler) -> None:
    self.remember(self.number("<I"))


@_on(pickle.MEMOIZE)
def _memoize(self: Unpickler) -> None:
    self.remember(len(self.memo))


@_on(pickle.BINGET)
def _get(self: Unpickler) -> None:
    self.recall(self.number("<B"))


@_on(pickle.LONG_BINGET)
def _long_get(self: Unpickler) -> None:
    self.recall(self.number("<I"))


# -- names, and what is done with them: the policy decides -----------------------------------------


@_on(pickle.GLOBAL)
def _global(self: Unpickler) -> None:
    module, name = self.line(), self.line()
    self.push(self.policy.find(module, name))


@_on(pickle.STACK_GLOBAL)
def _stack_global(self: Unpickler) -> None:
    name, module = self.pop(), self.pop()
    if type(name) is not str or type(module) is not str:
        raise UnpicklingError("the pickle names something by what is not a string")
    self.push(self.policy.find(module, name))


# A small object with its attributes.
_OBJECT = 400


def _arguments(value: Any) -> tuple[Any, ...]:
    if type(value) is not tuple:
        raise UnpicklingError(f"the pickle passes arguments in a {type(value).__name__}")
    return value


@_on(pickle.REDUCE)
def _reduce(self: Unpickler) -> None:
    args = _arguments(self.pop())
    self.spend(_OBJECT + _weight(args))
    self.push(self.policy.call(self.pop(), args))


@_on(pickle.NEWOBJ)
def _new_object(self: Unpickler) -> None:
    args = _arguments(self.pop())
    self.spend(_OBJECT + _weight(args))
    self.push(self.policy.make(self.pop(), args, {}))


@_on(pickle.NEWOBJ_EX)
def _new_object_with_keywords(self: Unpickler) -> None:
    kwargs, args = self.pop(), _arguments(self.pop())
    if type(kwargs) is not dict:
        raise UnpicklingError(f"the pickle passes keywords in a {type(kwargs).__name__}")
    self.spend(_OBJECT + _weight(args) + _weight(kwargs))
    self.push(self.policy.make(self.pop(), args, kwargs))


@_on(pickle.BUILD)
def _build(self: Unpickler) -> None:
    state = self.pop()
    self.spend(_weight(state))
    self.policy.give_state(self.top(), state)


@_on(pickle.BINPERSID)
def _persistent(self: Unpickler) -> None:
    self.push(self.policy.load_persistent(self.pop()))
