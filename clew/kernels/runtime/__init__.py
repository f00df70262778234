"""What compiled code needs to run: JIT, code cache, object loader, thread pool, allocators."""
