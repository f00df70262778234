"""Stop and resume: model, optimizer, scheduler and every random state in one file."""

import os
import random
import tempfile

import numpy as np


def main(torch):
    nn = torch.nn

    def seed_everything(seed):
        random.seed(seed)
        os.environ["PYTHONHASHSEED"] = str(seed)
        np.random.seed(seed)
        torch.manual_seed(seed)
        torch.cuda.manual_seed_all(seed)

    def build():
        model = nn.Sequential(
            nn.Conv1d(1, 6, 3, padding=1), nn.BatchNorm1d(6), nn.GELU(), nn.Dropout(0.2),
            nn.AdaptiveMaxPool1d(4), nn.Flatten(), nn.Linear(24, 3),
        )  # fmt: skip
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=1e-2)
        scheduler = torch.optim.lr_scheduler.ChainedScheduler(
            [
                torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=3),
                torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=12, power=0.9),
            ]
        )
        return model, optimizer, scheduler

    def train(model, optimizer, scheduler, steps):
        curve = []
        model.train()
        for _ in range(steps):
            x = torch.randn(10, 1, 12) + np.random.rand() + random.random()
            target = torch.randint(3, (10,))
            loss = nn.functional.cross_entropy(model(x), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            curve.append(loss.item())
        return curve

    seed_everything(1234)
    whole = train(*build(), 10)

    seed_everything(1234)
    model, optimizer, scheduler = build()
    first = train(model, optimizer, scheduler, 5)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "checkpoint.pth.tar")
        torch.save(
            {
                "epoch": 5,
                "model_state_dict": model.state_dict(),
                "optimizer_state_dict": optimizer.state_dict(),
                "scheduler": scheduler.state_dict(),
                "torch_rng": torch.get_rng_state(),
                "numpy_rng": np.random.get_state()[1].tolist(),
                "numpy_pos": int(np.random.get_state()[2]),
                "python_rng": random.getstate(),
                "best": torch.tensor(min(first)),
            },
            path,
        )
        seed_everything(999)
        model, optimizer, scheduler = build()
        checkpoint = torch.load(path, map_location="cpu", weights_only=True)
        torch.save(model.state_dict(), os.path.join(folder, "model_best.pth"))
        files = sorted(os.listdir(folder))
    model.load_state_dict(checkpoint["model_state_dict"])
    optimizer.load_state_dict(checkpoint["optimizer_state_dict"])
    scheduler.load_state_dict(checkpoint["scheduler"])
    torch.set_rng_state(checkpoint["torch_rng"])
    np.random.set_state(("MT19937", np.array(checkpoint["numpy_rng"], dtype=np.uint32),
                         checkpoint["numpy_pos"]))  # fmt: skip
    state = checkpoint["python_rng"]
    random.setstate((state[0], tuple(state[1]), state[2]))
    second = train(model, optimizer, scheduler, 5)

    partial = {
        k.replace("6.", "head."): v for k, v in model.state_dict().items() if "running" not in k
    }
    other, _, _ = build()
    report = other.load_state_dict(partial, strict=False)
    try:
        other.load_state_dict(partial)
        message = "loaded"
    except RuntimeError as e:
        message = str(e)
    wrong = dict(model.state_dict())
    wrong["6.weight"] = torch.zeros(3, 25)
    try:
        other.load_state_dict(wrong)
    except RuntimeError as e:
        mismatch = str(e)
    return {
        "whole": whole,
        "resumed": first + second,
        "identical": whole == first + second,
        "files": files,
        "keys": sorted(checkpoint),
        "best": checkpoint["best"],
        "missing": report.missing_keys,
        "unexpected": report.unexpected_keys,
        "message": message.split("\n")[:3],
        "mismatch": mismatch.split("\n")[:2],
        "optimizer_keys": list(checkpoint["optimizer_state_dict"]["state"][0]),
        "lr": scheduler.get_last_lr(),
    }
