"""Live graphs: reading them, observing their launches, measuring the driver.

The only room that imports cuda.* or cupti. Importing this imports neither: the bindings are loaded by the first call
that needs a driver.
"""

from sigcontract.doors import attach

__getattr__, __dir__, __all__ = attach(__spec__)
