"""Knowledge distillation: a student learns more from a teacher's answers than from labels.

A label says "a 3". A teacher says "a 3, a little like an 8, not at all like a 6": more to learn
from the same picture. Students of the same size get the same hundred digits, some with labels, some
with the softened answers of a teacher that has seen all. The teacher answers under `no_grad`: it is
a source of numbers, and learns nothing from the student.
"""

from pathlib import Path

import clew as torch
from clew.gallery import helper

nn, F = torch.nn, torch.nn.functional
TEMPERATURE = 4.0


def network(hidden: int):
    return nn.Sequential(nn.Linear(64, hidden), nn.ReLU(), nn.Linear(hidden, 10))


def fit(model, loss_of, x, steps: int, label: str):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    bar = helper.progress(range(steps), f"{label:18}")
    for _ in bar:
        optimizer.zero_grad()
        loss = loss_of(model(x))
        loss.backward()
        optimizer.step()
        bar.say(f"loss {loss.item():.3f}")
    return model


@torch.no_grad()
def accuracy(model, x, y) -> float:
    return (model(x).argmax(dim=1) == y).float().mean().item()


def main(fast: bool, seed: int, out: Path) -> dict[str, float]:
    torch.manual_seed(seed)
    x, y, test_x, test_y = (torch.from_numpy(part) for part in helper.digits())
    steps, students = (150, 3) if fast else (600, 8)
    teacher = fit(network(256), lambda answer: F.cross_entropy(answer, y), x, steps // 2, "teacher")
    figures = {"teacher": accuracy(teacher, test_x, test_y), "alone": 0.0, "distilled": 0.0}
    curve: dict[str, list[float]] = {"alone": [], "distilled": []}
    for number in range(students):
        few = torch.randperm(len(x))[:100]
        with torch.no_grad():
            soft = F.softmax(teacher(x[few]) / TEMPERATURE, dim=1)

        def with_labels(answer, few=few):
            return F.cross_entropy(answer, y[few])

        def with_teacher(answer, soft=soft):
            # Gradients of softened answers are smaller by the square of the temperature.
            given = F.log_softmax(answer / TEMPERATURE, dim=1)
            return TEMPERATURE**2 * F.kl_div(given, soft, reduction="batchmean")

        for name, loss_of in (("alone", with_labels), ("distilled", with_teacher)):
            torch.manual_seed(1000 * seed + number)  # both begin with the same weights
            student = fit(network(16), loss_of, x[few], steps, f"student {name}")
            curve[name].append(accuracy(student, test_x, test_y))
            figures[name] += curve[name][-1] / students
    helper.chart(
        out / "distillation.svg", curve, "Students of 100 digits, by how they were taught",
        "student", "accuracy on digits that nobody has seen",
    )  # fmt: skip
    return figures


def claims(figures, fast):
    alone, distilled = figures["alone"], figures["distilled"]
    yield (
        f"the teacher reads {figures['teacher']:.1%} of the digits (93%)",
        figures["teacher"] > 0.93,
    )
    yield f"students read {alone:.1%} alone, {distilled:.1%} distilled", distilled > alone + 0.005


if __name__ == "__main__":
    raise SystemExit(helper.run(main, claims))
