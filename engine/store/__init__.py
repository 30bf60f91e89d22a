"""The only place that imports lance or touches object storage."""
