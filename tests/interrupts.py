"""Interrupts at random moments: `python -m tests.interrupts [--count 10000] [--scenes a b]`.

Each scene runs in a process of its own while a timer (SIGALRM, with a handler that raises) and a
thread (SIGINT) stop it again and again. After each interrupt everything that clew keeps for the
thread must be as before, and a training step from a seed must give its numbers.
"""

from __future__ import annotations

import argparse
import dis
import functools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from typing import Any

CALL_FUNCTION_EX = dis.opmap["CALL_FUNCTION_EX"]
# From that long after an interrupt on, one that has not come out of the scene was swallowed.
_SWALLOWED_AFTER = 2.0


class Interrupt(TimeoutError):
    """What the handler of SIGALRM raises, as programs with a time limit do."""


class Interrupts:
    """Sends the main thread one interrupt at a time, after a random delay."""

    def __init__(self, seed: int, longest: float) -> None:
        self.random = random.Random(seed)
        self.longest = longest
        self.armed = False
        self.raised_at = 0.0
        self.lost = self.swallowed = 0
        self._wanted = threading.Event()
        signal.signal(signal.SIGALRM, self.handle)
        signal.signal(signal.SIGINT, self.handle)
        sys.unraisablehook = self.unraisable
        threading.Thread(target=self.send, daemon=True).start()

    def handle(self, number: int, frame: Any) -> None:
        if not self.armed:
            if time.monotonic() - self.raised_at < _SWALLOWED_AFTER:
                return
            self.swallowed += 1
        self.armed, self.raised_at = False, time.monotonic()
        raise KeyboardInterrupt if number == signal.SIGINT else Interrupt

    def unraisable(self, unraisable: Any) -> None:
        """Python drops what is raised in a destructor or a callback: send another one."""
        if isinstance(unraisable.exc_value, (Interrupt, KeyboardInterrupt)):
            self.lost += 1
            self.armed = True
        else:
            sys.__unraisablehook__(unraisable)

    def arm(self) -> None:
        self.armed, self.raised_at = True, time.monotonic()
        if self.random.random() < 0.5:
            delay = self.random.uniform(1e-6, self.longest)
            signal.setitimer(signal.ITIMER_REAL, delay, 0.1)
        else:
            self._wanted.set()

    def disarm(self) -> None:
        self.armed = False
        self.raised_at = float("inf")
        signal.setitimer(signal.ITIMER_REAL, 0)
        self._wanted.clear()

    def send(self) -> None:
        while True:
            self._wanted.wait()
            time.sleep(self.random.uniform(0, self.longest))
            while self._wanted.is_set():
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.02)


def run_scene(name: str, count: int, seconds: float, seed: int, cold: bool) -> dict[str, Any]:
    """Interrupt one scene in this process: what happened, and what was wrong afterwards."""
    from tests import interrupt_state
    from tests.interrupt_scenes import SCENES

    if cold:
        run, expected, once = SCENES[name](), None, 0.05
    else:
        run, expected = SCENES[name](), interrupt_state.reference()
        for _ in range(3):
            run()
        start = time.monotonic()
        run()
        once = time.monotonic() - start
    before = interrupt_state.state()
    interrupts = Interrupts(seed, 1.5 * once)
    failures: list[str] = []
    done = 0
    end = time.monotonic() + seconds
    while done < count and time.monotonic() < end:
        problem = ""
        try:
            interrupts.arm()
            while True:
                run()
        except (Interrupt, KeyboardInterrupt):
            interrupts.disarm()
            done += 1
        except BaseException:
            # Something else went wrong, then or in the part of the scene that checks.
            interrupts.disarm()
            problem = traceback.format_exc()[-3000:]
        failures += filter(None, [problem, *problems_after(before, expected)])
        if failures:
            break
    interrupts.disarm()
    return {
        "interrupts": done, "lost": interrupts.lost, "swallowed": interrupts.swallowed,
        "failures": failures,
    }  # fmt: skip


def problems_after(before: dict[str, Any], expected: list[float] | None) -> list[str]:
    """What an interrupt has changed; `expected` is what a training step gives (None: anything)."""
    from tests import interrupt_state

    problems = interrupt_state.changed(before)
    try:
        found = interrupt_state.reference()
        if expected is not None and found != expected:
            problems.append(f"a step gave {found}, not {expected}")
    except Exception:  # any failure is a finding
        problems.append(traceback.format_exc()[-3000:])
    return problems


# -- every point in turn -------------------------------------------------------------------------


class Points:
    """A profile function that raises where Python may run signal handlers, each time elsewhere.

    That is where functions start, and after calls of C functions; making an object is one, and so
    is `f(*args)` in some versions.
    """

    def __init__(self, with_callers: bool) -> None:
        self.with_callers = with_callers
        self.seen: set[tuple[Any, ...]] = set()
        self.is_spent = False

    def __call__(self, frame: Any, event: str, value: Any) -> None:
        if self.is_spent or event not in ("call", "return", "c_return"):
            return
        if event == "call" and begins_uninterrupted(frame.f_code):
            return
        if event == "return":
            is_made = frame.f_code.co_name == "__init__"
            frame = frame.f_back
            if not is_made and frame.f_code.co_code[frame.f_lasti] != CALL_FUNCTION_EX:
                return
        place: tuple[Any, ...] = frame.f_code, frame.f_lasti, event
        if self.with_callers and frame.f_back is not None:
            place += frame.f_back.f_code, frame.f_back.f_lasti
        if place not in self.seen:
            self.seen.add(place)
            self.is_spent = True
            raise Interrupt


@functools.cache
def begins_uninterrupted(code: Any) -> bool:
    """Whether a function's first instruction looks for no signals, as `uninterrupted` makes it."""
    first = next(each for each in dis.get_instructions(code) if each.opname == "RESUME")
    return bool(first.arg and first.arg >= 2)


def run_points(name: str, points: Points) -> dict[str, Any]:
    """Stop a scene once at every point that it passes."""
    from tests import interrupt_state
    from tests.interrupt_scenes import SCENES

    run, expected = SCENES[name](), interrupt_state.reference()
    run()
    run()
    before = interrupt_state.state()
    # What is raised while an object goes away is dropped, by Python.
    sys.unraisablehook = lambda unraisable: None
    failures: list[str] = []
    while True:
        points.is_spent = False
        problem = ""
        try:
            sys.setprofile(points)
            run()
        except Interrupt as error:
            sys.setprofile(None)
            trace = traceback.extract_tb(error.__traceback__)
        except BaseException:  # any failure is a finding
            sys.setprofile(None)
            problem = traceback.format_exc()[-3000:]
        sys.setprofile(None)
        if not points.is_spent:
            break
        failures += [f"{each}\n  after {trace[-2:]}" for each in interrupt_state.changed(before)]
        failures += filter(None, [problem])
        if failures:
            break
    failures += problems_after(before, expected)
    return {"points": len(points.seen), "failures": failures}


def run_child(arguments: argparse.Namespace, name: str, seed: int) -> dict[str, Any]:
    environment = dict(os.environ)
    with tempfile.TemporaryDirectory() as cache:
        if arguments.cold:
            environment["CLEW_CACHE_DIR"] = cache
        command = [
            sys.executable, "-m", "tests.interrupts", "--child", name, "--seed", str(seed),
            "--count", str(arguments.count), "--seconds", str(arguments.seconds),
        ]  # fmt: skip
        command += ["--cold"] * arguments.cold + ["--points"] * arguments.points
        command += ["--callers"] * arguments.callers
        limit = arguments.seconds + 60
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip
        try:
            output, complaint = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return {"interrupts": 0, "failures": [f"still running after {limit} seconds"]}
    if process.returncode:
        text = complaint[-3000:]
        return {"interrupts": 0, "failures": [f"exit code {process.returncode}: {text}"]}
    result: dict[str, Any] = json.loads(output.splitlines()[-1])
    if complaint:
        result["said"] = complaint[-2000:]
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10000, help="interrupts for each scene")
    parser.add_argument("--seconds", type=float, default=120, help="at most, for each scene")
    parser.add_argument("--cold", action="store_true", help="kernels have to be compiled")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scenes", nargs="*")
    parser.add_argument(
        "--points", action="store_true", help="stop at every point, without signals"
    )
    parser.add_argument("--callers", action="store_true", help="once for each caller of a point")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child and arguments.points:
        print(json.dumps(run_points(arguments.child, Points(arguments.callers))))
        return
    if arguments.child:
        print(json.dumps(run_scene(
            arguments.child, arguments.count, arguments.seconds, arguments.seed, arguments.cold
        )))  # fmt: skip
        return
    from tests.interrupt_scenes import SCENES

    failed = 0
    for number, name in enumerate(arguments.scenes or SCENES):
        result = run_child(arguments, name, arguments.seed + number)
        failed += len(result["failures"])
        print(f"{name:22}", json.dumps(result), flush=True)
    print(f"{failed} failures")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
