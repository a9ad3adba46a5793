"""The version of this package."""

__version__ = "0.1.0"

AGENT = f"vertebra-python/{__version__}"
"""What the client is, for people who look at the server."""
