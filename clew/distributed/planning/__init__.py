"""What a training run on many devices needs before it is run: memory, communication, time."""
