"""The doctor: it watches a run, finds the gradient bug and names the line."""

from clew.doctor.findings import Finding, Report
from clew.doctor.session import Session

__all__ = ["Finding", "Report", "Session"]
