"""What the doctor keeps of a run: facts about parameters, losses, data, passes and modes."""
