"""Long runs under the doctor: reports on demand, lines of JSON, annotations for CI."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clew.doctor.observe.session import Session
from clew.doctor.report.annotations import github
from clew.doctor.report.findings import Report
from clew.doctor.report.monitor import Monitor

BACKGROUND_EVERY = 50


def add_options(parser: argparse.ArgumentParser, count: Callable[[str], int]) -> None:
    """The options for runs that take hours, and for those of a CI service."""
    parser.add_argument(
        "--steps", type=count, metavar="N", help="watch the first N steps of the optimizers only"
    )
    parser.add_argument(
        "--background", action="store_true",
        help=f"for hours of training: look at one step of {BACKGROUND_EVERY}, report on SIGUSR1",
    )  # fmt: skip
    parser.add_argument(
        "--log", type=Path, metavar="FILE", help="append numbers and findings as lines of JSON"
    )
    parser.add_argument(
        "--annotate", action="store_true", help="print findings as annotations of GitHub Actions"
    )


class Following:
    """What happens beside a watched program while it runs."""

    def __init__(
        self, session: Session, args: argparse.Namespace, target: str,
        tell: Callable[[Report], None],
    ) -> None:  # fmt: skip
        self.session = session
        self.args = args
        self.target = target
        self.tell = tell
        self.process = os.getpid()
        self.before: Any = None

    def start(self) -> None:
        if self.args.log is not None:
            self.session.monitor = Monitor(self.session, self.args.log, self.target)
        on_demand = self.args.background or self.args.live
        if on_demand and hasattr(signal, "SIGUSR1") and _is_free(signal.SIGUSR1):
            self.before = signal.signal(signal.SIGUSR1, self._asked)

    def _asked(self, *_: Any) -> None:
        """SIGUSR1: report what was seen so far; the program goes on."""
        if os.getpid() != self.process:
            return
        try:
            self.tell(self.session.live_report(self.target))
        except Exception as error:  # a full disk is no reason to end the training
            print(f"clew doctor: no report: {error}", file=sys.stderr)

    def stop(self, report: Report) -> None:
        if self.before is not None and signal.getsignal(signal.SIGUSR1) == self._asked:
            signal.signal(signal.SIGUSR1, self.before)
        monitor, self.session.monitor = self.session.monitor, None
        if monitor is not None and os.getpid() == self.process:
            monitor.end(report)
        if self.args.annotate and os.getpid() == self.process:
            for line in github(report, remarks=self.args.remarks):
                print(line, file=sys.stderr)


def _is_free(number: signal.Signals) -> bool:
    """Whether nobody handles a signal, and this thread may."""
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and signal.getsignal(number) == signal.SIG_DFL
