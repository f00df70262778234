"""Starts a program as several ranks under MPI, shows what they print, and says why they end."""
