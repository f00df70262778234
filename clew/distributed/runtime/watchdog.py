"""A thread in each rank that notices when ranks wait for each other in vain.

A rank that waits longer than a moment asks the others what they do. The answers say whether one has
called another collective, has ended its program, or has not come until the timeout; then the job
ends with that as its cause. Questions and answers are messages of MPI on a communicator of their
own, so they also cross machines, and a rank answers while its program computes.
"""

from __future__ import annotations

import sys
import threading
import time
from types import FrameType
from typing import Any

from clew.distributed.runtime import checking, faults, flight_recorder, mpi
from clew.distributed.runtime.process_group import ENTERED, SHORT_WAYS, Entered, ProcessGroup
from clew.source import describe

_EVERY = 0.25
# A wait shorter than this is nobody's business.
_PATIENCE = 1.0
_QUESTION, _ANSWER = 1, 2

# What a rank answers: the number and call it waits in for that group, where it is, if it has ended.
Answer = tuple[int, tuple[str, str] | None, str, bool]


def place_of_thread(thread: int) -> str:
    """The user's line that a thread is at."""
    frame: FrameType | None = sys._current_frames().get(thread)
    frames: list[tuple[FrameType, int]] = []
    while frame is not None:
        frames.append((frame, frame.f_lasti))
        frame = frame.f_back
    return faults.innermost(frames) or "the end of the program"


def thread_in(group: ProcessGroup) -> int:
    """The thread that makes a sum for a group; the main one if it has just ended."""
    for thread, frame in sys._current_frames().items():
        each: FrameType | None = frame
        while each is not None:
            if each.f_code in SHORT_WAYS and each.f_locals.get("default") is group:
                return thread
            each = each.f_back
    return threading.main_thread().ident or 0


class Watchdog:
    """Watches what this rank waits for, and answers the questions of others."""

    def __init__(self, world: Any, groups: dict[str, Any]) -> None:
        self._world = world
        self._groups = groups
        self._main = threading.main_thread().ident or 0
        self._has_ended = False
        self._noted = ""
        self._stopped = threading.Event()
        # Since when a thread waits for what it waits for.
        self._since: dict[int, tuple[Entered, float]] = {}
        self._answers: dict[tuple[str, int], tuple[float, Answer]] = {}
        self._asked = 0.0
        self._sent: list[Any] = []
        # A rank may end before the thread looks for the first time.
        self._note_place()
        self._thread = threading.Thread(target=self._run, name="clew watchdog", daemon=True)
        self._thread.start()

    def program_ends(self) -> None:
        """From now on the others learn that this rank has nothing more to say."""
        self._has_ended = True

    def stop(self) -> None:
        """End the thread."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._stopped.wait(_EVERY):
                self._note_place()
                self._listen()
                self._look()
        except Exception as error:
            # Without it a hang would not be seen: the job ends and says so.
            faults.end_with("watchdog", f"the watchdog failed: {error!r}", "")

    def _note_place(self) -> None:
        place = place_of_thread(self._main)
        if place != self._noted:
            self._noted = place
            flight_recorder.note_place(faults.rank_of_environment(), place)

    # -- what others say -----------------------------------------------------------------------

    def _listen(self) -> None:
        MPI = mpi.library()
        status = MPI.Status()
        while self._world.Iprobe(MPI.ANY_SOURCE, MPI.ANY_TAG, status):
            source = status.Get_source()
            said = self._world.recv(source=source, tag=status.Get_tag())
            if status.Get_tag() == _QUESTION:
                self._send((said, self._answer(said)), source, _ANSWER)
            else:
                self._answers[said[0], source] = time.monotonic(), said[1]

    def _send(self, said: Any, rank: int, tag: int) -> None:
        # The request keeps the bytes until they are on their way.
        self._sent = [each for each in self._sent if not each.Test()]
        self._sent.append(self._world.isend(said, rank, tag))

    def _answer(self, group: str) -> Answer:
        found = self._groups.get(group)
        number = -1 if found is None else found.sequence
        for thread, entered in self._waiting().items():
            if entered.group.name == group and entered.sequence >= 0:
                call = checking.in_words(entered.name, entered.details)
                return number, (call, self._place(thread, entered)), "", self._has_ended
        return number, None, place_of_thread(self._main), self._has_ended

    def _place(self, thread: int, entered: Entered) -> str:
        return describe(entered.place) if entered.place else place_of_thread(thread)

    # -- what this rank waits for --------------------------------------------------------------

    def _waiting(self) -> dict[int, Entered]:
        """What each thread waits for."""
        waiting = dict(ENTERED)
        for group in list(self._groups.values()):
            entered = group.waits_in()
            if entered is not None:
                waiting[thread_in(group)] = entered
        return waiting

    def _look(self) -> None:
        now = time.monotonic()
        self._since = {
            thread: self._since[thread]
            if thread in self._since and self._since[thread][0] == entered
            else (entered, now)
            for thread, entered in self._waiting().items()
        }
        long = {
            thread: (entered, now - since)
            for thread, (entered, since) in self._since.items()
            if now - since > _PATIENCE
        }
        if not long:
            return
        if now - self._asked > _PATIENCE:
            self._asked = now
            for entered, _ in long.values():
                for rank in entered.group.ranks:
                    if rank != self._world.rank:
                        self._send(entered.group.name, rank, _QUESTION)
        for thread, (entered, seconds) in long.items():
            self._judge(thread, entered, seconds)

    def _judge(self, thread: int, entered: Entered, seconds: float) -> None:
        group = entered.group
        mine = (checking.in_words(entered.name, entered.details), self._place(thread, entered))
        began = time.monotonic() - seconds
        answers = {
            rank: found[1]
            for rank in group.ranks
            if (found := self._answers.get((group.name, rank))) and found[0] > began
        }
        what = f"rank {self._world.rank} waits in {mine[0]} at {mine[1]}"
        is_late = seconds > group.timeout.total_seconds()
        if entered.sequence < 0:
            # A message: the one who should send or receive it may come until the timeout.
            peers = [] if entered.peer is None else [entered.peer]
            gone = [rank for rank in peers if rank in answers and answers[rank][3]]
            if gone or is_late:
                self._end(what, gone, peers, answers, seconds)
            return
        came = {rank: each for rank, each in answers.items() if each[0] >= entered.sequence}
        calls = {rank: each[1] for rank, each in came.items() if each[0] == entered.sequence}
        said = [mine if rank == self._world.rank else calls.get(rank) for rank in group.ranks]
        is_known = len(answers) == group.size() - 1 or seconds > 3 * _PATIENCE
        if is_known and any(call is not None and call[0] != mine[0] for call in said):
            known = [(rank, call) for rank, call in zip(group.ranks, said) if call is not None]
            title = checking.mismatch(group.name, group.sequence, known)
            faults.end_with(
                "mismatch", title.splitlines()[0].rstrip(":"), mine[1], f"RuntimeError: {title}"
            )
        absent = [r for r in group.ranks if r != self._world.rank and r not in came]
        gone = [rank for rank in absent if rank in answers and answers[rank][3]]
        if seconds > 3 * _PATIENCE:
            # They came, yet the call did not end: theirs was another one.
            gone += [rank for rank, each in came.items() if each[3]]
        if gone or (is_late and absent) or seconds > 2 * group.timeout.total_seconds():
            self._end(what, gone, absent, answers, seconds)

    def _end(
        self,
        what: str,
        gone: list[int],
        absent: list[int],
        answers: dict[int, Answer],
        seconds: float,
    ) -> None:
        if gone:
            title = f"{checking.named(gone)} ended the program while {what}"
            faults.end_with("left", title, "", f"RuntimeError: {title}")
        who = checking.named(absent) if absent else "nobody"
        lines = [f"RuntimeError: {what}, and after {seconds:.0f} s {who} did not come"]
        for rank in absent:
            where = answers[rank][2] if rank in answers else ""
            lines.append(f"  rank {rank} " + (f"is at {where}" if where else "does not answer"))
        faults.end_with("timeout", lines[0].removeprefix("RuntimeError: "), "", "\n".join(lines))
