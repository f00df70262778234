"""The questions of `clew quiz`: what does this code do? The answer is found by running it."""

from __future__ import annotations

import linecache
import warnings
from typing import Any, NamedTuple

import clew

ERROR = "an error"


class Question(NamedTuple):
    """Code that leaves what is asked for in `answer`, and what can be expected of it."""

    ask: str
    code: str
    choices: tuple[str, ...]
    why: str
    graph: str = ""  # the tensor of the code whose graph explains the answer


class Outcome(NamedTuple):
    """What the code did."""

    answer: str
    said: str  # the text of the error or the warning, if there was one
    graph: str


def run(question: Question) -> Outcome:
    """Run the code of a question."""
    # A name under which the library finds the lines again, for errors and graphs.
    file = f"question_{QUESTIONS.index(question) + 1}.py"
    lines = question.code.splitlines(keepends=True)
    linecache.cache[file] = (len(question.code), None, lines, file)
    names: dict[str, Any] = {"torch": clew, "__name__": "__main__"}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            exec(compile(question.code, file, "exec"), names)
            answer, said = str(names["answer"]), str(caught[0].message) if caught else ""
        except RuntimeError as error:
            answer, said = ERROR, str(error)
    graph = str(clew.graph(names[question.graph])) if question.graph else ""
    return Outcome(answer, said, graph)


QUESTIONS = (
    Question(
        "What does x.grad hold after two calls of backward?",
        """\
x = torch.tensor(3.0, requires_grad=True)
y = x * x
y.backward(retain_graph=True)
y.backward()
answer = x.grad.item()
""",
        ("6.0", "12.0", "36.0", ERROR),
        "backward() adds to .grad: 6 and 6. This is why a training loop calls zero_grad().",
        "y",
    ),
    Question(
        "And if the graph is not retained, but nothing in it was saved?",
        """\
x = torch.tensor(3.0, requires_grad=True)
y = x + 1
y.backward()
y.backward()
answer = x.grad.item()
""",
        ("1.0", "2.0", ERROR),
        "A second backward fails because saved tensors were freed. The derivative of a sum needs "
        "none of its inputs: nothing was saved, so nothing was freed.",
        "y",
    ),
    Question(
        "What is x.grad when one factor is detached?",
        """\
x = torch.tensor(3.0, requires_grad=True)
y = x * x.detach()
y.backward()
answer = x.grad.item()
""",
        ("6.0", "3.0", "9.0", "None"),
        "The detached factor is a number, 3. The derivative of 3 x is 3.",
        "y",
    ),
    Question(
        "Which of these get a .grad: a (requires grad), b = a * 2, c (does not)?",
        """\
a = torch.ones(2, requires_grad=True)
c = torch.ones(2)
b = a * 2
loss = (b + c).sum()
loss.backward()
answer = [name for name, t in (("a", a), ("b", b), ("c", c)) if t.is_leaf and t.grad is not None]
""",
        ("['a']", "['a', 'b']", "['a', 'b', 'c']"),
        "Only leaves that require grad keep one. b is computed: its gradient passes through and is "
        "dropped, unless b.retain_grad() was called.",
        "loss",
    ),
    Question(
        "A bias of 3 numbers is added to 4 rows. What is its gradient?",
        """\
bias = torch.zeros(3, requires_grad=True)
loss = (torch.ones(4, 3) + bias).sum()
loss.backward()
answer = bias.grad.tolist()
""",
        ("[1.0, 1.0, 1.0]", "[4.0, 4.0, 4.0]", "[0.25, 0.25, 0.25]", ERROR),
        "What broadcasting repeats, backward sums: each number was used in 4 rows.",
        "loss",
    ),
    Question(
        "exp, then a write in place. What does backward do?",
        """\
x = torch.tensor(1.0, requires_grad=True)
y = x.exp()
y += 1
y.backward()
answer = x.grad.item()
""",
        ("2.7182817459106445", "3.7182817459106445", ERROR),
        "The derivative of exp is its result: the result was saved, and it has been overwritten.",
    ),
    Question(
        "The same with sin in place of exp?",
        """\
x = torch.tensor(0.0, requires_grad=True)
y = x.sin()
y += 1
y.backward()
answer = x.grad.item()
""",
        ("1.0", "0.0", ERROR),
        "The derivative of sin is the cosine of its input: the result is not saved and may change.",
        "y",
    ),
    Question(
        "A write through .data, between forward and backward. What is x.grad?",
        """\
x = torch.tensor(3.0, requires_grad=True)
y = x * x
x.data.mul_(10)
y.backward()
answer = x.grad.item()
""",
        ("6.0", "60.0", ERROR),
        "x was saved for backward, and .data changes it behind the back of the check: the gradient "
        "is that of another point. PyTorch says nothing, clew warns; the same write to x itself, "
        "under `torch.no_grad()`, raises an error in both.",
        "y",
    ),
    Question(
        "Does y require grad?",
        """\
x = torch.tensor(3.0, requires_grad=True)
with torch.no_grad():
    y = x * 2
answer = y.requires_grad
""",
        ("True", "False"),
        "Under no_grad nothing is recorded, and what is computed is a constant.",
    ),
    Question(
        "What is y.grad if the loss uses y.item()?",
        """\
x = torch.tensor(2.0, requires_grad=True)
y = torch.tensor(5.0, requires_grad=True)
loss = x * y.item()
loss.backward()
answer = y.grad
""",
        ("2.0", "5.0", "None", ERROR),
        "item() is a Python number. The graph of the loss knows of x alone.",
        "loss",
    ),
    Question(
        "A masked square root at 0. What is the gradient?",
        """\
x = torch.tensor(0.0, requires_grad=True)
y = torch.where(x > 0, x.sqrt(), torch.tensor(0.0))
y.backward()
answer = x.grad.item()
""",
        ("0.0", "inf", "nan"),
        "The branch that is not taken gets a gradient of 0, and passes on 0 times its derivative, "
        "which is infinite at 0. Mask the input of sqrt, too.",
        "y",
    ),
    Question(
        "How often does the checkpointed function run in one forward and backward?",
        """\
calls = 0

def block(x):
    global calls
    calls += 1
    return x.sin().exp()

x = torch.tensor(1.0, requires_grad=True)
y = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)
y.backward()
answer = calls
""",
        ("1", "2", "3"),
        "Checkpointing keeps the input of the block and none of what it computes inside. Backward "
        "needs that, and runs the block a second time: memory for time.",
    ),
    Question(
        "Are the gradients of two half batches, each loss divided by 2, those of the whole batch?",
        """\
torch.manual_seed(0)
w = torch.randn(3, dtype=torch.float64, requires_grad=True)
x = torch.randn(8, 3, dtype=torch.float64)
whole, = torch.autograd.grad((x @ w).pow(2).mean(), w)
for half in x.split(4):
    ((half @ w).pow(2).mean() / 2).backward()
answer = torch.allclose(w.grad, whole)
""",
        ("True", "False"),
        "Gradients add up, and a mean over 8 is half of the sum of two means over 4. Without the "
        "division the learning rate would be twice as large.",
    ),
    Question(
        "x is used twice. What is its gradient?",
        """\
x = torch.tensor(2.0, requires_grad=True)
a = x * 3
b = x * x
y = a + b
y.backward()
answer = x.grad.item()
""",
        ("3.0", "4.0", "7.0", "12.0"),
        "The gradients of both paths add up: 3 by way of a, 2 x = 4 by way of b.",
        "y",
    ),
)
