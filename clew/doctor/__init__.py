"""The doctor: it watches a run, finds the gradient bug and names the line."""

from clew.doctor.observe.session import Session
from clew.doctor.observe.watch import Unhealthy, Watch, watch
from clew.doctor.report.findings import Finding, Report
from clew.doctor.report.graph_view import GraphView, graph

__all__ = ["Finding", "GraphView", "Report", "Session", "Unhealthy", "Watch", "graph", "watch"]
