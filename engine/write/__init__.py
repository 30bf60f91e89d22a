"""The write path: accumulate, validate, stage, arm, commit, confirm, publish, disarm."""
