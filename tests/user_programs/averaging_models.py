"""EMA and SWA with swa_utils, SWALR, update_bn, cyclic rates, and a hand-written EMA class."""

from copy import deepcopy


def main(torch):
    nn = torch.nn
    swa = torch.optim.swa_utils
    torch.manual_seed(33)
    x = torch.randn(64, 4)
    y = torch.sin(x.sum(1, keepdim=True)) + 0.1 * torch.randn(64, 1)
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(x, y), batch_size=16, shuffle=True
    )

    class EMA:
        def __init__(self, model, decay):
            self.module = deepcopy(model).eval()
            self.decay = decay

        @torch.no_grad()
        def update(self, model):
            ema = self.module.state_dict()
            for k, v in model.state_dict().items():
                if v.dtype.is_floating_point:
                    ema[k] *= self.decay
                    ema[k] += (1.0 - self.decay) * v.detach()

    def net():
        return nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1))

    model = net()
    swa_model = swa.AveragedModel(model)
    ema_model = swa.AveragedModel(
        model, multi_avg_fn=swa.get_ema_multi_avg_fn(0.9), use_buffers=True
    )
    custom = swa.AveragedModel(model, avg_fn=lambda avg, new, n: avg * 0.5 + new * 0.5)
    by_hand = EMA(model, 0.9)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CyclicLR(
        optimizer, base_lr=0.02, max_lr=0.1, step_size_up=3, mode="triangular2", cycle_momentum=True
    )
    swa_scheduler = swa.SWALR(optimizer, anneal_strategy="cos", anneal_epochs=3, swa_lr=0.05)
    curve, rates = [], []
    for epoch in range(6):
        for xb, yb in loader:
            loss = nn.functional.mse_loss(model(xb), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            ema_model.update_parameters(model)
            by_hand.update(model)
            curve.append(loss.item())
            if epoch < 3:
                scheduler.step()
        if epoch >= 3:
            swa_model.update_parameters(model)
            custom.update_parameters(model)
            swa_scheduler.step()
        rates.append([optimizer.param_groups[0]["lr"], optimizer.param_groups[0]["momentum"]])
    swa.update_bn(loader, swa_model)
    swa_model.eval()
    ema_model.eval()
    with torch.no_grad():
        scores = [
            nn.functional.mse_loss(m(x), y).item() for m in (swa_model, ema_model, by_hand.module)
        ]
    return {
        "curve": curve,
        "rates": rates,
        "scores": scores,
        "swa": swa_model.module[0].weight,
        "ema": ema_model.module[1].running_mean,
        "custom": custom.module[3].bias,
        "n": swa_model.n_averaged,
        "keys": list(swa_model.state_dict()),
    }
