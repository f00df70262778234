"""What the doctor sees: the session that observes a run, and the events that it hands on."""
