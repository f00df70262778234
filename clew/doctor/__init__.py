"""The doctor: it watches a run, finds the gradient bug and names the line."""

from clew.doctor.findings import Finding, Report
from clew.doctor.graphview import GraphView, graph
from clew.doctor.session import Session
from clew.doctor.watching import Unhealthy, Watch, watch

__all__ = ["Finding", "GraphView", "Report", "Session", "Unhealthy", "Watch", "graph", "watch"]
