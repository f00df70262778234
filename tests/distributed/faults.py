"""What `clew launch` must say of each fault of program_faults.py."""

from __future__ import annotations

from tests.distributed.ranks import FOLDER

PROGRAM = "program_faults.py"

# The bad rank is {who}, the others {others}; {line} is where the program has the fault's name, its
# number {number}.
FAULTS = {
    "raises": ["rank {who} of {size}: ValueError: bad news, at", "{line}: raise ValueError"],
    "exits": ["rank {who} of {size}: sys.exit(3), at", "{line}"],
    "exits with words": ["rank {who} of {size}: sys.exit('no such file'), at", "{line}"],
    "leaves": ["rank {who} ended the program while rank", "all_reduce of float32 [8], SUM"],
    "drops": ["rank {who} of {size}: exited with status 4", "last seen at", PROGRAM],
    "drops early": ["rank {who} of {size}: exited with status 5"],
    "drops well": ["rank {who} of {size}: ended without the others (os._exit"],
    "killed": ["rank {who} of {size}: was killed by SIGKILL", "last seen at", PROGRAM],
    "killed with workers": ["rank {who} of {size}: was killed by SIGKILL"],
    "segfault": ["rank {who} of {size}: was killed by SIGSEGV, at", "{line}"],
    "aborts": ["rank {who} of {size}: was killed by SIGABRT, at", "{line}"],
    "terminated": ["rank {who} of {size}: was killed by SIGTERM"],
    "stops": ["after 2 s rank {who} did not come", "rank {who} does not answer"],
    "memory": ["rank {who} of {size}: MemoryError, at", "{line}"],
    "recursion": ["rank {who} of {size}: RecursionError: maximum recursion", "{line}"],
    "mute": ["rank {who} of {size}: ValueError: bad news, at", "{line}"],
    "backward": ["rank {who} of {size}: ValueError: bad gradient, at", "{line}"],
    "under way": ["rank {who} of {size}: ValueError: bad news, at", "{line}"],
    "early": ["rank {who} of {size}: ImportError: no module of that name, at", "{line}"],
    "at the end": ["rank {who} of {size}: ValueError: bad news, at", "{line}"],
    "worker": [
        "rank {who} of {size}: OSError: Caught OSError in DataLoader worker",
        "line {number},",
    ],
    "worker dies": ["rank {who} of {size}: WorkerDied: DataLoader worker", "SIGKILL"],
    "shape": [
        "Detected mismatch between collectives on ranks",
        "{others}: all_reduce of float32 [3], SUM at",
        "rank {who}: all_reduce of float32 [4], SUM at",
    ],
    "dtype": [
        "Detected mismatch between collectives on ranks",
        "{others}: all_reduce of float32 [3], SUM at",
        "rank {who}: all_reduce of float64 [3], SUM at",
    ],
    "order": ["rank {who}: broadcast of float32 [3], from rank 0 at", "{line}"],
    "operation": ["rank {who}: all_reduce of float32 [3], MAX at", "{line}"],
    "source": ["rank {who}: broadcast of float32 [3], from rank {who} at", "{line}"],
    "group": ["rank {who}: new_group of ranks [0, 1] at", "{line}"],
    # Of kinds that were compared before: it may crash inside MPI, and the launcher knows the calls.
    "late": [
        "Detected mismatch between collectives on ranks",
        "{others}: all_reduce of float32 [8], SUM at",
        "rank {who}: all_reduce of float32 [100000], SUM at",
    ],
    "uneven": ["ended the program while rank {who} waits in all_reduce", "{line}"],
    "sleeps": ["after 2 s rank {who} did not come", "rank {who} is at", "{line}: time.sleep(60)"],
    "receives": ["rank {who}", "{line}"],
}


def expected(how: str, who: int, size: int) -> list[str]:
    """The words that must be said of a fault."""
    others = [rank for rank in range(size) if rank != who]
    plural = "ranks" if len(others) > 1 else "rank"
    lines = (FOLDER / PROGRAM).read_text().splitlines()
    number = next((n for n, text in enumerate(lines, 1) if text.endswith(f"# {how}")), None)
    known = {
        "who": who,
        "size": size,
        "others": f"{plural} {', '.join(map(str, others))}",
        "line": f"{PROGRAM}:{number}",
        "number": number,
    }
    return [words.format(**known) for words in FAULTS[how]]
