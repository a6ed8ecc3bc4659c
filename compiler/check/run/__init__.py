"""Run built programs on rows of numbers: threads, launches and pipelines, on the CPU and on devices."""
