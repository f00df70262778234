"""`Trainer.fit` with validation, checkpoints, early stopping, clipping, bfloat16"""

import torch, tempfile, logging
import lightning as L

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class M(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.save_hyperparameters()
        self.net = torch.nn.Sequential(
            torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1)
        )

    def training_step(self, b, i):
        x, y = b
        loss = torch.nn.functional.mse_loss(self.net(x), y)
        self.log("train", loss)
        return loss

    def validation_step(self, b, i):
        x, y = b
        self.log("val", torch.nn.functional.mse_loss(self.net(x), y))

    def configure_optimizers(self):
        o = torch.optim.Adam(self.parameters(), lr=1e-2)
        return {"optimizer": o, "lr_scheduler": torch.optim.lr_scheduler.StepLR(o, 1)}


L.seed_everything(0, verbose=False)
x = torch.randn(32, 4)
y = x.sum(1, keepdim=True)
dl = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=8, shuffle=True)
with tempfile.TemporaryDirectory() as d:
    m = M()
    t = L.Trainer(
        max_epochs=3,
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=d,
        callbacks=[
            L.pytorch.callbacks.ModelCheckpoint(dirpath=d, monitor="val"),
            L.pytorch.callbacks.EarlyStopping("val"),
        ],
        gradient_clip_val=1.0,
    )
    t.fit(m, dl, dl)
    print({k: f"{v.item():.5f}" for k, v in t.callback_metrics.items()})
    m2 = M.load_from_checkpoint(t.checkpoint_callback.best_model_path)
    print({k: f"{v:.5f}" for k, v in t.validate(m2, dl, verbose=False)[0].items()})
    t3 = L.Trainer(
        max_epochs=1,
        accelerator="cpu",
        precision="bf16-mixed",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=True,
        enable_checkpointing=False,
        default_root_dir=d,
    )
    t3.fit(M(), dl)
    print(sorted(t3.callback_metrics))
    print(len(t.predict(m2, dl) if False else []))
