"""`torch.distributed.elastic`: processes that are started again when they fail; not there."""
