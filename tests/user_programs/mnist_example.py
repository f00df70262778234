"""The structure of the official MNIST example: argparse, train, test, StepLR, save and load."""

import argparse
import io


def synthetic_digits(torch, n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 10, (n,), generator=g)
    x = 0.3 * torch.randn(n, 1, 16, 16, generator=g)
    for i in range(n):
        d = int(y[i])
        x[i, 0, d : d + 4, :] += 1.0
        x[i, 0, :, 14 - d] += 1.0
    return x, y


def main(torch):
    nn, F, optim = torch.nn, torch.nn.functional, torch.optim
    StepLR = optim.lr_scheduler.StepLR

    class Net(nn.Module):
        def __init__(self):
            super(Net, self).__init__()
            self.conv1 = nn.Conv2d(1, 4, 3, 1)
            self.conv2 = nn.Conv2d(4, 8, 3, 1)
            self.dropout1 = nn.Dropout(0.25)
            self.dropout2 = nn.Dropout2d(0.5)
            self.fc1 = nn.Linear(288, 32)
            self.fc2 = nn.Linear(32, 10)

        def forward(self, x):
            x = self.conv1(x)
            x = F.relu(x)
            x = self.conv2(x)
            x = F.relu(x)
            x = F.max_pool2d(x, 2)
            x = self.dropout2(x)
            x = torch.flatten(x, 1)
            x = self.fc1(x)
            x = F.relu(x)
            x = self.dropout1(x)
            x = self.fc2(x)
            return F.log_softmax(x, dim=1)

    lines, curve = [], []

    def train(args, model, device, train_loader, optimizer, epoch):
        model.train()
        for batch_idx, (data, target) in enumerate(train_loader):
            data, target = data.to(device), target.to(device)
            optimizer.zero_grad()
            output = model(data)
            loss = F.nll_loss(output, target)
            loss.backward()
            optimizer.step()
            curve.append(loss.item())
            if batch_idx % args.log_interval == 0:
                lines.append(
                    "Train Epoch: {} [{}/{} ({:.0f}%)]\tLoss: {:.3f}".format(
                        epoch,
                        batch_idx * len(data),
                        len(train_loader.dataset),
                        100.0 * batch_idx / len(train_loader),
                        loss.item(),
                    )
                )
                if args.dry_run:
                    break

    def test(model, device, test_loader):
        model.eval()
        test_loss = 0
        correct = 0
        with torch.no_grad():
            for data, target in test_loader:
                data, target = data.to(device), target.to(device)
                output = model(data)
                test_loss += F.nll_loss(output, target, reduction="sum").item()
                pred = output.argmax(dim=1, keepdim=True)
                correct += pred.eq(target.view_as(pred)).sum().item()
        test_loss /= len(test_loader.dataset)
        curve.append(test_loss)
        lines.append(
            "\nTest set: Accuracy: {}/{} ({:.0f}%)\n".format(
                correct, len(test_loader.dataset), 100.0 * correct / len(test_loader.dataset)
            )
        )

    parser = argparse.ArgumentParser(description="PyTorch MNIST Example")
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--test-batch-size", type=int, default=50)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=1.0)
    parser.add_argument("--gamma", type=float, default=0.7)
    parser.add_argument("--no-accel", action="store_true")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log-interval", type=int, default=3)
    parser.add_argument("--save-model", action="store_true")
    args = parser.parse_args(["--save-model", "--no-accel"])

    torch.manual_seed(args.seed)
    use_cuda = not args.no_accel and torch.cuda.is_available()
    device = torch.device("cuda" if use_cuda else "cpu")
    train_kwargs = {"batch_size": args.batch_size, "shuffle": True}
    test_kwargs = {"batch_size": args.test_batch_size}
    TensorDataset, DataLoader = torch.utils.data.TensorDataset, torch.utils.data.DataLoader
    train_loader = DataLoader(TensorDataset(*synthetic_digits(torch, 96, 5)), **train_kwargs)
    test_loader = DataLoader(TensorDataset(*synthetic_digits(torch, 70, 6)), **test_kwargs)

    model = Net().to(device)
    optimizer = optim.Adadelta(model.parameters(), lr=args.lr)
    scheduler = StepLR(optimizer, step_size=1, gamma=args.gamma)
    for epoch in range(1, args.epochs + 1):
        train(args, model, device, train_loader, optimizer, epoch)
        test(model, device, test_loader)
        scheduler.step()

    buffer = io.BytesIO()
    if args.save_model:
        torch.save(model.state_dict(), buffer)
    buffer.seek(0)
    again = Net()
    message = again.load_state_dict(torch.load(buffer, map_location=device))
    again.eval(), model.eval()
    x, _ = synthetic_digits(torch, 4, 7)
    return {
        "lines": lines,
        "curve": curve,
        "message": str(message),
        "same": bool((again(x) == model(x)).all()),
        "lr": scheduler.get_last_lr(),
        "model": str(model),
        "optimizer": repr(optimizer),
        "fc2": model.fc2.bias,
    }
