"""Run artefacts on devices: the emitted C++ on the CPU, and GPUs."""
