"""The hub: what PyTorch tells, for all sessions that watch it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from clew.doctor.engines.pytorch.calls import CallMode, Calls
from clew.doctor.engines.pytorch.passes import Passes
from clew.doctor.engines.pytorch.seen import World
from clew.doctor.engines.pytorch.state import Local, Sampling
from clew.doctor.engines.pytorch.wrapping import Wrapping
from clew.doctor.facts.places import Place
from clew.forking import add_lock


class Hub:
    """Watches while there are sessions; what it sees it tells to each of them."""

    def __init__(self) -> None:
        self.sessions: tuple[Any, ...] = ()
        self.local = Local()
        self.world = World()
        self.passes = Passes(self)
        self.calls = Calls(self)
        self.mode = CallMode(self)
        self.sampling = Sampling(None)
        self.wrapping = Wrapping(self)
        self.in_custom = 0  # custom functions whose backward is running
        self.last_write: Place | None = None
        # The thread whose calls are seen, and whether they pass unseen for now.
        self.thread = 0
        self.is_paused = False
        self._lock = add_lock(self, "_lock", threading.Lock)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    @property
    def is_open(self) -> bool:
        """Whether what happens now is told."""
        return self.sampling.is_open and bool(self.sessions)

    def add(self, session: Any, every: int | None) -> None:
        with self._lock:
            self.sessions = (*self.sessions, session)
            if len(self.sessions) == 1:
                self.sampling = Sampling(every)
                self.wrapping.install()
                self.thread = threading.get_ident()
                self.is_paused = True
                self.resume()

    def remove(self, session: Any) -> None:
        with self._lock:
            self.sessions = tuple(each for each in self.sessions if each is not session)
            if not self.sampling.is_open:
                session.watch_resumes()
            if not self.sessions:
                self.wrapping.remove()
                self._leave_mode()

    def pause(self) -> None:
        """Let calls pass unseen, as long as no other mode has been entered since."""
        if self._is_on_top():
            torch._C._pop_torch_function_stack()
            self.is_paused = True

    def resume(self) -> None:
        if self.is_paused and self.sessions and threading.get_ident() == self.thread:
            torch._C._push_on_torch_function_stack(self.mode)
            self.is_paused = False

    def _is_on_top(self) -> bool:
        height = torch._C._len_torch_function_stack()
        return (
            height > 0
            and threading.get_ident() == self.thread
            and torch._C._get_function_stack_at(height - 1) is self.mode
        )

    def _leave_mode(self) -> None:
        """End the mode; one that the program entered later and has not left stays."""
        if self.is_paused:
            self.is_paused = False
            return
        above = []
        while torch._C._len_torch_function_stack():
            mode = torch._C._pop_torch_function_stack()
            if mode is self.mode:
                break
            above.append(mode)
        for mode in reversed(above):
            torch._C._push_on_torch_function_stack(mode)

    def _forget(self) -> None:
        """In a forked process nobody asks for what would be seen."""
        self.sessions = ()

    # -- telling -----------------------------------------------------------------------------------

    def tell(self, event: str, *args: Any) -> None:
        state = self.local.state
        if state.busy:
            for session in self.sessions:
                getattr(session, event)(*args)
            return
        state.busy = 1
        try:
            with torch._C.DisableTorchFunction(), np.errstate(all="ignore"):
                for session in self.sessions:
                    getattr(session, event)(*args)
        finally:
            state.busy = 0

    def safely(self, handle: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run a part of the doctor: a mistake in it must not become one of the program's."""
        state = self.local.state
        state.busy += 1
        try:
            with torch._C.DisableTorchFunction(), np.errstate(all="ignore"):
                return handle(*args, **kwargs)
        except RecursionError:
            return None
        except Exception as error:
            for session in self.sessions:
                session.failed(error)
            return None
        finally:
            state.busy -= 1

    def wants_gradients(self) -> bool:
        """Whether somebody looks at the gradients of inner nodes."""
        return any(
            session.flow.is_open or session.numbers.reported is None for session in self.sessions
        )

    def wants_flow(self) -> bool:
        """Whether somebody looks at gradients that are finite."""
        return any(session.flow.is_open for session in self.sessions)

    def next_number(self) -> int:
        return int(torch.autograd._get_sequence_nr())


hub = Hub()
