"""`torchrun`: starts several processes, which clew does not have."""

from clew.distributed.refusing import refused

__all__ = ["get_args_parser", "main", "parse_args", "run"]

main, run = refused("torchrun"), refused("torchrun")
parse_args, get_args_parser = refused("torchrun"), refused("torchrun")
