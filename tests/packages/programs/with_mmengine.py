"""MMEngine: a `Runner` with hooks, evaluation and checkpoints."""

import tempfile

import torch
from mmengine.evaluator import BaseMetric
from mmengine.model import BaseModel
from mmengine.runner import Runner

torch.manual_seed(0)


class M(BaseModel):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(4, 2)

    def forward(self, x, y, mode):
        o = self.l(x)
        if mode == "loss":
            return {"loss": torch.nn.functional.cross_entropy(o, y)}
        return o, y


class Acc(BaseMetric):
    def process(self, b, d):
        o, y = d
        self.results.append({"n": len(y), "c": (o.argmax(1) == y).sum().item()})

    def compute_metrics(self, r):
        return dict(acc=100 * sum(a["c"] for a in r) / sum(a["n"] for a in r))


x = torch.randn(32, 4)
ds = [(x[i], int(x[i].sum() > 0)) for i in range(32)]
r = Runner(
    M(),
    work_dir=tempfile.mkdtemp(),
    train_dataloader=dict(
        batch_size=8,
        dataset=ds,
        sampler=dict(type="DefaultSampler", shuffle=True),
        collate_fn=dict(type="default_collate"),
    ),
    val_dataloader=dict(
        batch_size=8,
        dataset=ds,
        sampler=dict(type="DefaultSampler", shuffle=False),
        collate_fn=dict(type="default_collate"),
    ),
    optim_wrapper=dict(optimizer=dict(type="SGD", lr=0.1)),
    train_cfg=dict(by_epoch=True, max_epochs=2),
    val_cfg=dict(),
    val_evaluator=dict(type=Acc),
    randomness=dict(seed=0),
    log_level="ERROR",
    default_hooks=dict(checkpoint=dict(type="CheckpointHook", interval=1)),
)
r.train()
print(*[f"{v:.5f}" for p in r.model.parameters() for v in p.flatten().tolist()])
