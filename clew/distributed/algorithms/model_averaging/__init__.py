"""Averages of models over processes: making one raises."""
