"""torchmetrics: metrics that are kept over batches."""

import torch
import torchmetrics

torch.manual_seed(0)
metrics = torchmetrics.MetricCollection(
    [
        torchmetrics.Accuracy(task="multiclass", num_classes=3),
        torchmetrics.F1Score(task="multiclass", num_classes=3, average="macro"),
        torchmetrics.AUROC(task="multiclass", num_classes=3),
    ]
)
error = torchmetrics.MeanSquaredError()
for _ in range(3):
    logits, target = torch.randn(16, 3), torch.randint(0, 3, (16,))
    metrics.update(logits.softmax(-1), target)
    error.update(logits[:, 0], target.float())
print({name: round(value.item(), 5) for name, value in metrics.compute().items()})
print(f"{error.compute().item():.5f}")
