# expect: clip-misplaced line 25
# The clipping call stands before backward(): it sees last step's gradients or none.

import torch
import torch.nn as nn

torch.manual_seed(23)
seq = torch.randn(40, 10, 3)
label = seq.sum(dim=(1, 2), keepdim=False).unsqueeze(1)

lstm = nn.LSTM(3, 16, batch_first=True)
readout = nn.Linear(16, 1)
parameters = [*lstm.parameters(), *readout.parameters()]
optimizer = torch.optim.Adam(parameters, lr=0.01)


def forward(batch):
    output, _ = lstm(batch)
    return readout(output[:, -1])


for epoch in range(12):
    loss = nn.functional.smooth_l1_loss(forward(seq), label)
    optimizer.zero_grad(set_to_none=False)
    torch.nn.utils.clip_grad_norm_(parameters, 0.25)
    loss.backward()
    optimizer.step()
    if epoch % 4 == 0:
        print(f"{epoch}: {loss.item():.4f}")
