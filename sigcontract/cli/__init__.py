"""The verbs of the command line; the rules they apply live in the rooms below."""

__all__: list[str] = []
