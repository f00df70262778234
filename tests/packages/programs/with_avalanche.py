"""Avalanche: five strategies of continual learning."""

import torch
from avalanche.benchmarks import benchmark_from_datasets
from avalanche.benchmarks.utils import (
    _make_taskaware_tensor_classification_dataset as mk,
)
from avalanche.evaluation.metrics import accuracy_metrics
from avalanche.training.plugins import EvaluationPlugin
from avalanche.training.supervised import EWC, LwF, Naive, Replay, SynapticIntelligence

torch.manual_seed(0)


def ex(o):
    g = torch.Generator().manual_seed(o)
    x = torch.randn(32, 4, generator=g) + o
    y = (x.sum(1) > 4 * o).long()
    return mk(x, y, task_labels=[0] * 32)


b = benchmark_from_datasets(train=[ex(0), ex(1)], test=[ex(0), ex(1)])
for S, kw in (
    (Naive, {}),
    (EWC, dict(ewc_lambda=0.4)),
    (Replay, dict(mem_size=10)),
    (LwF, dict(alpha=1.0, temperature=2.0)),
    (SynapticIntelligence, dict(si_lambda=0.1)),
):
    torch.manual_seed(0)
    m = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    s = S(
        model=m,
        optimizer=torch.optim.SGD(m.parameters(), 0.1),
        criterion=torch.nn.CrossEntropyLoss(),
        train_mb_size=8,
        train_epochs=1,
        evaluator=EvaluationPlugin(accuracy_metrics(stream=True), loggers=[]),
        **kw,
    )
    for e in b.train_stream:
        s.train(e, num_workers=0)
    print(
        S.__name__,
        {k: f"{v:.4f}" for k, v in s.eval(b.test_stream).items()},
        f"{sum(p.abs().sum().item() for p in m.parameters()):.4f}",
    )
