"""The only room that imports cuda.* or cupti."""
