"""What `clew.distributed` runs on: MPI, groups, work that goes on, and what watches over them."""
