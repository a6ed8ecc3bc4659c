"""Compile jobs: requests, argument lists, scheduling, results, and the cache of results."""
