"""torchdata: a stateful loader that goes on where it stopped, and transformers' `Trainer` over it"""

import tempfile

import torch
from torchdata.stateful_dataloader import StatefulDataLoader
from transformers import GPT2Config, GPT2LMHeadModel, PrinterCallback, Trainer, TrainingArguments


class Rows(torch.utils.data.Dataset):
    def __init__(self):
        self.rows = torch.randint(0, 50, (16, 12), generator=torch.Generator().manual_seed(3))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return {"input_ids": self.rows[index], "labels": self.rows[index]}


torch.manual_seed(0)
loader = StatefulDataLoader(Rows(), batch_size=3, shuffle=True, num_workers=2)
batches = iter(loader)
for _ in range(2):
    print(next(batches)["input_ids"][:, 0].tolist())
state = loader.state_dict()
rest = [each["input_ids"][:, 0].tolist() for each in batches]
again = StatefulDataLoader(Rows(), batch_size=3, shuffle=True, num_workers=2)
again.load_state_dict(state)
print(rest == [each["input_ids"][:, 0].tolist() for each in again], rest)

torch.manual_seed(0)
model = GPT2LMHeadModel(GPT2Config(n_layer=2, n_head=2, n_embd=16, vocab_size=50, n_positions=16))
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        folder, per_device_train_batch_size=4, num_train_epochs=2, learning_rate=1e-2, seed=1,
        logging_steps=2, report_to=[], save_steps=4, eval_strategy="epoch", disable_tqdm=True,
        lr_scheduler_type="cosine", warmup_steps=2, max_grad_norm=0.5, use_cpu=True,
    )  # fmt: skip
    trainer = Trainer(model, arguments, train_dataset=Rows(), eval_dataset=Rows())
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    print(f"{trainer.evaluate()['eval_loss']:.4f}")
    for each in trainer.state.log_history:
        print(
            each["step"],
            *[f"{each[k]:.4f}" for k in ("loss", "grad_norm", "eval_loss") if k in each],
        )
    model.load_state_dict(GPT2LMHeadModel.from_pretrained(f"{folder}/checkpoint-4").state_dict())
    resumed = Trainer(model, arguments, train_dataset=Rows(), eval_dataset=Rows())
    resumed.remove_callback(PrinterCallback)
    resumed.train(resume_from_checkpoint=f"{folder}/checkpoint-4")
    print(f"{resumed.evaluate()['eval_loss']:.4f}")
