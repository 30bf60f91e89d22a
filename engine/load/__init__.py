"""Loading files and streams of rows in bulk."""
