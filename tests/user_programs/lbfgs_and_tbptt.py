"""Time series: LSTMCells with LBFGS, then truncated backpropagation through a long sequence."""

import math

import numpy as np


def main(torch):
    nn, optim = torch.nn, torch.optim
    np.random.seed(2)
    torch.manual_seed(0)
    result = {}

    # The sine prediction example: double precision, closures.
    T, L, N = 10, 30, 6
    x = np.empty((N, L), "int64")
    x[:] = np.array(range(L)) + np.random.randint(-4 * T, 4 * T, N).reshape(N, 1)
    data = np.sin(x / 1.0 / T).astype("float64")

    class Sequence(nn.Module):
        def __init__(self):
            super(Sequence, self).__init__()
            self.lstm1 = nn.LSTMCell(1, 8)
            self.lstm2 = nn.LSTMCell(8, 8)
            self.linear = nn.Linear(8, 1)

        def forward(self, input, future=0):
            outputs = []
            h_t = torch.zeros(input.size(0), 8, dtype=torch.double)
            c_t = torch.zeros(input.size(0), 8, dtype=torch.double)
            h_t2 = torch.zeros(input.size(0), 8, dtype=torch.double)
            c_t2 = torch.zeros(input.size(0), 8, dtype=torch.double)
            for input_t in input.split(1, dim=1):
                h_t, c_t = self.lstm1(input_t, (h_t, c_t))
                h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
                output = self.linear(h_t2)
                outputs += [output]
            for i in range(future):
                h_t, c_t = self.lstm1(output, (h_t, c_t))
                h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
                output = self.linear(h_t2)
                outputs += [output]
            return torch.cat(outputs, dim=1)

    input, target = torch.from_numpy(data[2:, :-1]), torch.from_numpy(data[2:, 1:])
    seq = Sequence()
    seq.double()
    criterion = nn.MSELoss()
    optimizer = optim.LBFGS(seq.parameters(), lr=0.8, max_iter=6)
    losses = []
    for i in range(2):

        def closure():
            optimizer.zero_grad()
            out = seq(input)
            loss = criterion(out, target)
            losses.append(loss.item())
            loss.backward()
            return loss

        optimizer.step(closure)
    with torch.no_grad():
        pred = seq(torch.from_numpy(data[:2, :-1]), future=5)
    result["lbfgs"] = [losses, pred]

    # LBFGS with strong Wolfe on Rosenbrock.
    p = nn.Parameter(torch.tensor([-1.5, 2.0], dtype=torch.float64))
    opt = torch.optim.LBFGS([p], lr=1, max_iter=50, line_search_fn="strong_wolfe")
    path = []

    def rosenbrock():
        opt.zero_grad()
        f = (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2
        f.backward()
        path.append(f.item())
        return f

    opt.step(rosenbrock)
    result["rosenbrock"] = [path[:20], len(path), p]

    # TBPTT with a carried, detached state.
    torch.manual_seed(1)
    series = torch.sin(torch.arange(0, 121) * 0.3) + 0.3 * torch.sin(torch.arange(0, 121) * 0.71)
    rnn, out = nn.RNN(1, 12, nonlinearity="tanh", batch_first=True), nn.Linear(12, 1)
    gru = nn.GRUCell(1, 12)
    params = list(rnn.parameters()) + list(out.parameters()) + list(gru.parameters())
    opt = torch.optim.RMSprop(params, lr=5e-3, centered=True)
    sched = torch.optim.lr_scheduler.MultiStepLR(opt, milestones=[4, 8], gamma=0.5)
    hidden, state, curve = None, torch.zeros(1, 12), []
    for k in range(0, 120, 10):
        chunk, nxt = series[k : k + 10].view(1, -1, 1), series[k + 1 : k + 11].view(1, -1, 1)
        y, hidden = rnn(chunk, hidden)
        hidden = hidden.detach()
        loss = criterion(out(y), nxt)
        for t in range(10):
            state = gru(chunk[:, t], state)
            loss = loss + 0.1 * (out(state) - nxt[:, t]).pow(2).mean()
        state = state.detach()
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(params, 0.25, norm_type=math.inf)
        opt.step()
        sched.step()
        curve.append(loss.item())
    result["tbptt"] = [curve, hidden, state, opt.param_groups[0]["lr"]]
    return result
