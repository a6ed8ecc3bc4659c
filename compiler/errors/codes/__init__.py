"""The diagnostic codes: one table for each stage."""
