"""PPO, A2C, DQN and SAC on small environments"""

import torch, numpy as np
from stable_baselines3 import PPO, DQN, SAC, A2C

m = PPO("MlpPolicy", "CartPole-v1", n_steps=32, batch_size=16, seed=0, device="cpu")
m.learn(64)
print(f"{sum(p.sum().item() for p in m.policy.parameters()):.3f}")
m = A2C("MlpPolicy", "CartPole-v1", seed=0, device="cpu")
m.learn(30)
print(f"{sum(p.sum().item() for p in m.policy.parameters()):.3f}")
m = DQN("MlpPolicy", "CartPole-v1", seed=0, learning_starts=20, device="cpu")
m.learn(60)
print(f"{sum(p.sum().item() for p in m.policy.parameters()):.3f}")
m = SAC("MlpPolicy", "Pendulum-v1", seed=0, learning_starts=20, device="cpu")
m.learn(40)
print(f"{sum(p.sum().item() for p in m.policy.parameters()):.3f}")
m.save("/tmp/x/sac_m")
m2 = SAC.load("/tmp/x/sac_m", device="cpu")
print(torch.equal(next(m.policy.parameters()), next(m2.policy.parameters())))
