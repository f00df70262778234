"""What is run on other Pythons and processors: tests that need no PyTorch, and a program."""

from __future__ import annotations

# What waits, sleeps, is loaded, and depends on registers.
TESTS = (
    "tests/kernels/runtime", "tests/kernels/test_thread_counts.py",
    "tests/kernels/gemm/test_gemm.py",
    "tests/core/test_async_products.py", "tests/optim/test_step_plan.py",
)  # fmt: skip
REQUIREMENTS = ("pytest", "hypothesis")

# Says what it found as JSON: numbers, whether LLVM was needed, and the workers that had work.
PROGRAM = """
import json, os, sys, time
import clew
from clew import nn

def ticks():
    found = {}
    for task in os.listdir("/proc/self/task"):
        fields = open(f"/proc/self/task/{task}/stat").read().rpartition(")")[2].split()
        found[task] = int(fields[11]) + int(fields[12])
    return found

clew.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(3, 8, 3), nn.ReLU(), nn.BatchNorm2d(8), nn.Flatten(), nn.Linear(8 * 14 * 14, 64),
    nn.LayerNorm(64), nn.GELU(), nn.Linear(64, 10),
)
optimizer = clew.optim.AdamW(model.parameters(), lr=1e-3)
numbers = []
for _ in range(5):
    optimizer.zero_grad()
    images, classes = clew.randn(16, 3, 16, 16), clew.randint(0, 10, (16,))
    loss = nn.functional.cross_entropy(model(images), classes)
    loss.backward()
    optimizer.step()
    numbers.append(loss.item())
numbers += [p.detach().double().norm().item() for p in model.parameters()]
x = clew.randn(500, 2000)
clew.nn.functional.gelu(x)
before, main = ticks(), str(os.getpid())
end = time.monotonic() + 3
while time.monotonic() < end:
    clew.nn.functional.gelu(x)
after = ticks()
busy = [task for task in after if task != main and after[task] - before.get(task, 0) >= 10]
print(json.dumps([numbers, "llvmlite.binding" in sys.modules, len(busy)]))
"""
