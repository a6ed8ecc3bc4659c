"""Makes measurements with a little noise. Put yours in the place of these."""

import numpy as np

time = np.linspace(0.0, 3.0, 300, dtype=np.float32)
noise = np.random.default_rng(0).normal(0.0, 0.01, time.shape)
np.savez("measured.npz", time=time, seen=(0.8 * np.exp(-1.5 * time) + noise).astype(np.float32))
