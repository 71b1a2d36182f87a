"""What maintainers run: generated files, the API reference."""
