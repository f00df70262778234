"""Replicas of a module that train on parts of a batch: DDP, its buckets, and uneven inputs."""
