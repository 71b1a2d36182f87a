"""Read live graphs, observe their launches and measure the driver.

The only package that imports cuda.* or cupti. Importing it loads neither; the first call that needs a driver does.
"""

from sigcontract.doors import attach

__getattr__, __dir__, __all__ = attach(__spec__)
