"""What two graphs share, what parts them, and what an update would do: pure functions over records."""
