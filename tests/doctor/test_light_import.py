"""The doctor without the engine: when a part of the engine is asked for, there is one of it."""

from __future__ import annotations

import subprocess
import sys


def test_the_first_part_of_the_engine_is_loaded_once() -> None:
    program = (
        "import clew_doctor, clew\n"
        "from clew.core.public import FUNCTIONS\n"
        "assert FUNCTIONS is clew._FUNCTIONS and FUNCTIONS['relu'] is clew.relu\n"
        "import clew.core.public as again\n"
        "assert again.FUNCTIONS is FUNCTIONS and again.__spec__.origin.endswith('public.py')\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
