"""Ignite: a trainer and an evaluator."""

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.metrics import Accuracy, Loss

torch.manual_seed(0)
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = torch.nn.CrossEntropyLoss()
x = torch.randn(16, 4)
loader = torch.utils.data.DataLoader(
    torch.utils.data.TensorDataset(x, (x.sum(1) > 0).long()), batch_size=4
)
trainer = create_supervised_trainer(model, optimizer, criterion)
evaluator = create_supervised_evaluator(
    model, metrics={"accuracy": Accuracy(), "loss": Loss(criterion)}
)


@trainer.on(Events.EPOCH_COMPLETED)
def report(engine):
    evaluator.run(loader)
    print(f"{evaluator.state.metrics['loss']:.5f} {evaluator.state.metrics['accuracy']:.4f}")


trainer.run(loader, max_epochs=2)
