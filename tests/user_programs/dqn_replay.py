"""DQN with a replay buffer of named tuples, epsilon-greedy and a soft target update."""

import math
import random
from collections import deque, namedtuple

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))


class ReplayMemory(object):
    def __init__(self, capacity):
        self.memory = deque([], maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        return random.sample(self.memory, batch_size)

    def __len__(self):
        return len(self.memory)


class PoleEnv:
    """A cart and a pole, integrated by Euler's method."""

    def reset(self):
        self.s = [random.uniform(-0.05, 0.05) for _ in range(4)]
        return list(self.s)

    def step(self, a):
        x, xd, th, thd = self.s
        force = 10.0 if a == 1 else -10.0
        tmp = (force + 0.05 * thd**2 * math.sin(th)) / 1.1
        acc = (9.8 * math.sin(th) - math.cos(th) * tmp) / (0.5 * (4 / 3 - 0.1 * math.cos(th) ** 2))
        xacc = tmp - 0.05 * acc * math.cos(th) / 1.1
        self.s = [x + 0.02 * xd, xd + 0.02 * xacc, th + 0.02 * thd, thd + 0.02 * acc]
        return list(self.s), 1.0, abs(self.s[0]) > 2.4 or abs(self.s[2]) > 0.21


def main(torch):
    nn, optim, F = torch.nn, torch.optim, torch.nn.functional
    random.seed(11)
    torch.manual_seed(11)

    class DQN(nn.Module):
        def __init__(self, n_observations, n_actions):
            super(DQN, self).__init__()
            self.layer1 = nn.Linear(n_observations, 24)
            self.layer2 = nn.Linear(24, 24)
            self.layer3 = nn.Linear(24, n_actions)

        def forward(self, x):
            x = F.relu(self.layer1(x))
            x = F.relu(self.layer2(x))
            return self.layer3(x)

    BATCH_SIZE, GAMMA, TAU, LR = 16, 0.99, 0.05, 1e-3
    device = torch.device("cpu")
    env = PoleEnv()
    policy_net = DQN(4, 2).to(device)
    target_net = DQN(4, 2).to(device)
    target_net.load_state_dict(policy_net.state_dict())
    optimizer = optim.AdamW(policy_net.parameters(), lr=LR, amsgrad=True)
    memory = ReplayMemory(1000)
    steps_done, losses, durations = 0, [], []

    def select_action(state):
        nonlocal steps_done
        eps = 0.05 + 0.85 * math.exp(-1.0 * steps_done / 60)
        steps_done += 1
        if random.random() > eps:
            with torch.no_grad():
                return policy_net(state).max(1).indices.view(1, 1)
        return torch.tensor([[random.randrange(2)]], device=device, dtype=torch.long)

    def optimize_model():
        if len(memory) < BATCH_SIZE:
            return
        transitions = memory.sample(BATCH_SIZE)
        batch = Transition(*zip(*transitions))
        non_final_mask = torch.tensor(
            tuple(map(lambda s: s is not None, batch.next_state)), device=device, dtype=torch.bool
        )
        non_final_next_states = torch.cat([s for s in batch.next_state if s is not None])
        state_batch = torch.cat(batch.state)
        action_batch = torch.cat(batch.action)
        reward_batch = torch.cat(batch.reward)
        state_action_values = policy_net(state_batch).gather(1, action_batch)
        next_state_values = torch.zeros(BATCH_SIZE, device=device)
        with torch.no_grad():
            best = target_net(non_final_next_states).max(1).values
            next_state_values[non_final_mask] = best
        expected = (next_state_values * GAMMA) + reward_batch
        criterion = nn.SmoothL1Loss()
        loss = criterion(state_action_values, expected.unsqueeze(1))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
        optimizer.step()
        losses.append(loss.item())

    for i_episode in range(5):
        state = torch.tensor(env.reset(), dtype=torch.float32, device=device).unsqueeze(0)
        for t in range(25):
            action = select_action(state)
            observation, reward, done = env.step(action.item())
            reward = torch.tensor([reward], device=device)
            next_state = None
            if not done:
                next_state = torch.tensor(observation, dtype=torch.float32).unsqueeze(0)
            memory.push(state, action, next_state, reward)
            state = next_state
            optimize_model()
            target_sd, policy_sd = target_net.state_dict(), policy_net.state_dict()
            for key in policy_sd:
                target_sd[key] = policy_sd[key] * TAU + target_sd[key] * (1 - TAU)
            target_net.load_state_dict(target_sd)
            if done:
                break
        durations.append(t + 1)
    return {
        "losses": losses,
        "durations": durations,
        "target": target_net.layer3.bias,
        "policy": policy_net.layer3.bias,
        "state_keys": [sorted(s) for s in optimizer.state.values()],
    }
