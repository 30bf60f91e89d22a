"""Words every layer may use; imports nothing of ours."""
