# expect: target-not-detached line 38, 39
# TD(0) differentiates through the value of the next state.

import argparse

import torch
import torch.nn as nn


def build_chain(length):
    """Random walk on a line; reward 1 at the right end."""
    generator = torch.Generator().manual_seed(65)
    state, transitions = length // 2, []
    while len(transitions) < 200:
        move = 1 if torch.rand((), generator=generator) < 0.5 else -1
        nxt = state + move
        done = nxt in (0, length - 1)
        transitions.append((state, float(nxt == length - 1), nxt, done))
        state = length // 2 if done else nxt
    return transitions


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gamma", type=float, default=0.99)
    parser.add_argument("--length", type=int, default=9)
    args = parser.parse_args()
    torch.manual_seed(65)
    value_net = nn.Sequential(nn.Embedding(args.length, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(value_net.parameters(), lr=5e-3)
    transitions = build_chain(args.length)
    s = torch.tensor([t[0] for t in transitions])
    r = torch.tensor([t[1] for t in transitions])
    s2 = torch.tensor([t[2] for t in transitions])
    done = torch.tensor([t[3] for t in transitions], dtype=torch.float32)
    for sweep in range(40):
        v = value_net(s).squeeze(1)
        td_target = r + args.gamma * (1 - done) * value_net(s2).squeeze(1)
        td_error = td_target - v
        loss = 0.5 * td_error.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if sweep % 10 == 0:
            print("sweep", sweep, "loss", round(loss.item(), 5))


main()
