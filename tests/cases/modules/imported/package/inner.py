from .deeper import deep

COUNT = 3
__all__ = ["COUNT", "deep"]
