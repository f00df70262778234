"""Nested containers ("pytrees"): their leaves as a list and back, paths to leaves, and text."""
