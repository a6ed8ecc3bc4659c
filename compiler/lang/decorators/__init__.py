"""Decorators, policies, and the words for derivatives and loops."""
