# expect: missing-zero-grad line 64, 80, 82
import math
from dataclasses import dataclass
from typing import Optional
import torch
import torch.nn as nn


@dataclass
class Output:
    logits: torch.Tensor
    loss: Optional[torch.Tensor] = None


@dataclass
class Args:
    lr: float = 2e-3
    warmup: int = 5
    steps: int = 30
    accumulation: int = 2
    eval_every: int = 10


class TinyBert(nn.Module):
    def __init__(self, vocab=24, d=24):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, d), nn.Embedding(16, d)
        self.enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(d, 2, 48, 0.1, batch_first=True), 1)
        self.lm = nn.Linear(d, vocab)

    def forward(self, input_ids, labels=None):
        h = self.tok(input_ids) + self.pos(torch.arange(input_ids.shape[1]))
        h = self.enc(h)
        logits = self.lm(h)
        loss = None
        if labels is not None:
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)
        return Output(logits, loss)


def collate(n):
    ids = (torch.randint(0, 4, (n, 1)) + 3 * torch.arange(12)) % 20 + 4
    mask = torch.rand(ids.shape) < 0.2
    mask[:, 0] = True
    return {"input_ids": ids.masked_fill(mask, 1), "labels": ids.masked_fill(~mask, -100)}


class Trainer:
    def __init__(self, model, args):
        self.model, self.args = model, args
        decay = [p for p in model.parameters() if p.ndim > 1]
        rest = [p for p in model.parameters() if p.ndim <= 1]
        self.opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.01}, {"params": rest, "weight_decay": 0.0}], lr=args.lr)
        self.sched = torch.optim.lr_scheduler.LambdaLR(self.opt, self.factor)

    def factor(self, step):
        a = self.args
        if step < a.warmup:
            return (step + 1) / a.warmup
        return max(0.0, (a.steps - step) / (a.steps - a.warmup))

    def training_step(self, batch):
        loss = self.model(**batch).loss / self.args.accumulation
        loss.backward()
        return loss.detach() * self.args.accumulation

    def evaluate(self):
        self.model.eval()
        with torch.no_grad():
            loss = self.model(**collate(32)).loss.item()
        print("eval", round(loss, 3))
        self.model.train()

    def train(self):
        self.model.train()
        for step in range(self.args.steps):
            for _ in range(self.args.accumulation):
                self.training_step(collate(16))
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.opt.step()
            self.sched.step()
            self.opt.zero_grad
            if step % self.args.eval_every == 0:
                self.evaluate()


torch.manual_seed(99)
Trainer(TinyBert(), Args()).train()
