"""List every number that can change a verdict: one table, in the order in which the method uses them.

The docstring of an entry has three parts: the unit, what the number measures, and what happens if it is larger.
A heading ``# == Title`` begins a section. Print the table as Markdown: ``python -m slangad.compiler.check.tolerances``.
"""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    Shape = tuple[int, ...]

# == Number formats

ULP16: Final = 2.0**-10
"""Relative. The distance of neighbouring halves at 1. Larger: not a choice, it is the format's."""
ULP32: Final = 2.0**-23
"""Relative. The distance of neighbouring float32 numbers at 1. Larger: not a choice, it is the format's."""
ULP64: Final = 2.0**-52
"""Relative. The distance of neighbouring float64 numbers at 1. Larger: not a choice, it is the format's."""
UNDERFLOW: Final = 1e-300
"""Absolute. Float64 numbers below it have lost digits. It also keeps denominators from being zero. Larger: small
derivatives are not compared."""
UNDERFLOW_F32: Final = 1e-30
"""Absolute. The same for float32. Larger: small float32 derivatives are not compared."""
LARGEST_F32: Final = 1e37
"""Absolute. Derivatives above it are too large for float32. Larger: what overflows in float32 counts as imprecise."""
CONSTANTS: Final = 5e-7
"""Relative. Constants of a program are float32 in its float64 twin too, so derivatives may be off by this. Larger:
small mistakes pass."""
USUAL_SHARE: Final = 0.2
"""Share of the median over samples. It is added to a number's own size in relative tolerances. Larger: mistakes in
entries below the median pass."""
INT_ENDS: Final = {"int": (-(1 << 31), (1 << 31) - 1), "uint": (0, (1 << 32) - 1)}
"""Values. The least and the largest integer of each type. Larger: not a choice, it is the format's."""

# == Samples

DEFAULT_SAMPLES: Final = 128
"""Samples. How many random ones each subject gets, unless the user asks for another number. Larger: rare mistakes are
met more often, and the check takes longer."""
SAMPLES_LEAST: Final = 16
"""Samples. A subject of many entries gets at least so many, if the user asks for so many. Larger: it takes longer."""
JACOBIAN_ENTRIES: Final = 1 << 16
"""Entries. Samples times entries of the Jacobian; subjects of many entries get fewer samples. Larger: it takes
longer."""
UNDECLARED_INTEGERS: Final = (0.0, 3.0)
"""Values. Integers without a declared range are drawn from this interval. Larger: indices leave their arrays more
often."""
CONSTANTS_MOST: Final = 12
"""Numbers. So many numbers of a program's text are tried as inputs. Larger: more thresholds are met, by more
samples."""
COLUMNS_MOST: Final = 32
"""Inputs. So many inputs get samples on purpose, such as zeros and ends of ranges. Larger: more samples."""
NUMBERS_MOST: Final = 16
"""Samples. Numbers of the text times inputs at which they are tried. Larger: more thresholds are met, by more
samples."""
COMBINATIONS_MOST: Final = 64
"""Samples. Combinations of integers that are tried. Larger: more of them are met, by more samples."""
INTEGERS_TOTAL: Final = 1 << 20
"""Values. The range of one integer counts for at most so many values when combinations are counted. Larger: nothing, up
to numbers that overflow."""
COMBINATION_NUMBERS: Final = 1 << 40
"""Combinations. Only the first so many take part where combinations are drawn at random. Larger: nothing, up to numbers
that overflow."""
EQUAL_INTEGERS: Final = 4
"""Samples. At so many of them all integers are equal. Larger: more samples."""
THREES_MOST: Final = 6
"""Floats. Up to so many, all groups of three are made equal and all pairs opposite. Larger: more samples."""
ALL_EQUAL: Final = 4
"""Samples. At so many of them all floats of a type are equal. Larger: more samples."""
INTEGER_OFTEN: Final = 0.25
"""Share. At this share of the random samples an integer is a number of the text. Larger: fewer samples are random."""
BESIDE_NUMBER_BY: Final = (0.0, 2.0**-12, -(2.0**-12))
"""Relative, absolute above 1. How far beside a number of the text an input is tried. Larger: narrow branches are
missed."""
SMALL_NUMBER: Final = 0.02
"""Absolute. Smaller numbers of the text may be thresholds of distances, so inputs are drawn that near to zero and to
each other. Larger: more numbers are taken for thresholds."""
SMALL_MOST: Final = 3
"""Numbers. So many small numbers of the text are tried. Larger: more samples."""
ENDS_MOST: Final = 4
"""Floats. Up to so many, the ends of their ranges are tried in all combinations. Larger: more samples."""
INTEGER_MASK_BITS: Final = 20
"""Bits. Shifts by at most so many are followed backwards, to find integers worth trying. Larger: larger integers."""
INTEGER_LARGEST: Final = (1 << 32) - 1
"""Value. Larger integers are not tried. Larger: not a choice, no type holds them."""
TEXT_LINES: Final = 60
"""Lines. Numbers are read from so many lines of the text, from the subject on. Larger: numbers of other functions are
tried."""

# == Samples outside [-1, 1], for floats without a declared range

OUTSIDE_TIMES: Final = (1.5, -1.5, 1.0, 1.0 + 2.0**-12, 1.0 - 2.0**-12, -1.0)
"""Factors. One float at a time is tried at these multiples of a number of the text. Larger: farther samples."""
OUTSIDE_ALL: Final = 1.5
"""Factor. All such floats at once are drawn up to this multiple of a number of the text. Larger: farther samples."""
OUTSIDE_NUMBER_LARGEST: Final = 1e6
"""Absolute. Larger numbers of the text are not tried: they are constants of physics, or stand for infinity. Larger:
samples at which nothing can be compared."""
OUTSIDE_MOST: Final = 72
"""Samples. So many have one float outside. Larger: more samples."""
OUTSIDE_ALL_EACH: Final = 3
"""Samples. So many for each number of the text have all such floats outside. Larger: more samples."""

OUTSIDE_F32: Final = 0.05
"""Relative to the values. Samples with a larger error in float32 overflow on the way there, so they show nothing.
Larger: samples that overflow on the way accuse."""
OUTSIDE_LARGEST: Final = 1e30
"""Absolute. Samples with a larger value or derivative show nothing. Larger: samples that overflow on the way accuse."""

# == Functions of many inputs: blocks of inputs first, some entries then

FEW_INPUTS: Final = 96
"""Inputs. A subject with more is examined in blocks. Larger: more subjects are examined entry by entry."""
FEW_RESULTS: Final = 48
"""Results. A subject with more is examined in blocks. Larger: more subjects are examined entry by entry."""
BLOCK_SIZE: Final = 32
"""Inputs. So many neighbours form a block. Larger: mistakes of single inputs are a smaller part of what is compared."""
BLOCK_SAMPLES: Final = 6
"""Samples. So many are compared in blocks. Larger: it takes longer, and meets more."""
BLOCK_SUSPECTS: Final = 12
"""Inputs. So many wrong ones are looked for. Larger: it takes longer."""
BLOCK_HALVES: Final = 4
"""Ratio. Suspect blocks halved at a time, over the number of wrong inputs looked for. Larger: it takes longer."""
BLOCK_SHOWN_INPUTS: Final = 32
"""Inputs. So many are examined entry by entry besides the suspects. Larger: it takes longer, and meets more."""
BLOCK_SHOWN_RESULTS: Final = 12
"""Results. So many are examined entry by entry besides those of suspects. Larger: it takes longer, and meets more."""
BLOCK_WINDOWS: Final = (2.0**-7, 2.0**-12, 2.0**-18)
"""Relative to the scale. Half widths of the windows in which slopes along blocks are measured. Larger: functions that
vary quickly can't be compared."""
BLOCK_SHARP: Final = 1e-5
"""Relative. Error bar of a slope along a block, at most, for the block to be compared. Larger: kinks are taken for
mistakes."""
BLOCK_CONSTANTS: Final = 2.0
"""Times CONSTANTS. What a slope along a block may be off. Larger: small mistakes pass."""
BLOCK_STEP: Final = 2.0**-10
"""Relative to the scale. How far suspects move, to find the results that they move most. Larger: other results are
shown."""
BLOCKS_ENOUGH: Final = 0.5
"""Share. Blocks that must have been compared for a verdict. Larger: more subjects are inconclusive."""

# == Scouts: cheap comparisons at many places

SCOUTS: Final = 2048
"""Places. So many are looked at cheaply at most. Larger: rarer mistakes are met, and it takes longer."""
SCOUTS_EACH: Final = 16
"""Ratio. Scouts over samples, at most. Larger: more scouts where samples are few."""
SCOUT_WINDOWS: Final = (2.0**-7, 2.0**-12)
"""Relative to the scale. Half widths of the windows of a scout. Larger: functions that vary quickly can't be
compared."""
SCOUT_TOLERANCE: Final = 1e-5
"""Relative. A derivative further off than this and the error bar becomes a sample. Larger: small mistakes are not
met."""
SCOUT_USUAL_SHARE: Final = 0.1
"""Share of the median over scouts. It is added to a derivative's own size. Larger: mistakes below the median are not
met."""
SCOUT_SHARP: Final = 1e-4
"""Relative. Error bar of a scout's slope, at most, for it to be compared. Larger: more kinks become samples."""
SCOUTS_FOUND: Final = 24
"""Samples. So many of the worst scouts become samples. Larger: it takes longer."""

# == Sizes of launches and of pipelines

DOMAINS: Final[dict[int, Shape]] = {1: (5,), 2: (3, 2), 3: (2, 3, 2)}
"""Threads. The domain by its number of axes, where nothing declares one. Larger: launches take longer."""
DOMAIN_MOST: Final = 24
"""Threads. The domain grows up to so many, to reach numbers that a thread's own number is compared with. Larger: more
branches are met, and launches take longer."""
TENSOR_EXTENTS: Final[Shape] = (3, 4, 2, 3)
"""Elements. Extents of tensors that nothing asks for, by axis. Larger: launches take longer."""
TENSOR_MOST: Final = 1 << 14
"""Elements. A tensor of a kernel that needs more is refused. Larger: launches take longer."""
PIPELINE_TENSORS: Final[tuple[Shape, ...]] = ((6, 4, 2), (4, 6, 3), (8, 8, 4), (5, 3, 2), (12, 8, 4))
"""Elements. Extents of a pipeline's tensors that are tried, one row after another. Larger: launches take longer."""
PIPELINE_TEXTURE: Final = (4, 3)
"""Texels. Extents of a pipeline's textures that are tried first. Larger: launches take longer."""
PIPELINE_TENSOR_MOST: Final = 1 << 12
"""Elements. A tensor of a pipeline that needs more is refused. Larger: launches take longer."""
SHAPE_ROUNDS: Final = 12
"""Rounds. So often shapes are enlarged until they fit all indices. Larger: fewer kernels are refused."""
SHAPE_SAMPLES: Final = 64
"""Samples. So many show which indices a kernel uses. Larger: rarer indices are met."""
SHAPE_SAMPLES_AGAIN: Final = 4
"""Samples. The same for further sizes of a launch. Larger: rarer indices are met."""
PIPELINE_SHAPE_SAMPLES: Final = 48
"""Samples. The same for a pipeline. Larger: rarer indices are met."""
SHAPE_INSIDE: Final = 0.25
"""Share. Samples whose indices must stay inside, for shapes to fit. Larger: more kernels are refused."""
OUTSIDE_INDICES_MOST: Final = 0.85
"""Share. Samples at which an index may leave what it indexes; with more the subject is inconclusive. Larger: verdicts
rest on fewer samples."""

# == Work: what is affordable; counted in indices into tensors, about five nanoseconds each

WORK_MOST: Final = 3e8
"""Work. What one part of a check of launches may take, about a second. Larger: more samples, and it takes longer."""
WORK_THREAD: Final = 8
"""Work. What a thread takes besides its indices. Larger: fewer samples."""
WORK_TEXTURE: Final = 32
"""Work. What sampling a texture takes. Larger: fewer samples."""
WORK_SCREEN: Final = 51
"""Launches. What it takes to screen a pair of sample and input. Larger: fewer pairs."""
WORK_DEEP: Final = 650
"""Launches. What it takes to examine such a pair with all windows. Larger: fewer pairs."""
WORK_SCOUT: Final = 36
"""Launches. What a scout takes. Larger: fewer scouts."""
WORK_JACOBIANS: Final = 12
"""Jacobians. So many are computed for each sample. Larger: fewer samples."""
WORK_BACKWARD: Final = 3
"""Launches. What a derivative takes. Larger: fewer samples."""
WORK_SAMPLES: Final = 24
"""Samples. At least so many are examined, whatever they take. Larger: it takes longer."""
PAIRS: Final = 6000
"""Pairs of sample and input. So many are screened. Larger: more entries are compared, and it takes longer."""
PAIRS_LEAST: Final = 150
"""Pairs of sample and input. At least so many are screened, whatever they take. Larger: it takes longer."""
PAIRS_EACH: Final = 12
"""Samples. At least so many are screened for each input. Larger: it takes longer."""
DEEP: Final = 500
"""Pairs of sample and input. So many are examined with all windows. Larger: fewer entries stay undecided."""
DEEP_LEAST: Final = 12
"""Pairs of sample and input. At least so many are examined so, whatever they take. Larger: it takes longer."""
SCOUTS_LEAST: Final = 32
"""Places. At least so many scouts, whatever they take. Larger: it takes longer."""
ACCUSED: Final = 60
"""Pairs of sample and input. So many that disagree are confirmed; the rest is only counted. Larger: it takes longer."""
POINTS_AT_ONCE: Final = 400_000
"""Rows. So many are evaluated in one call. Larger: more memory."""

# == Running programs

OPTIMIZATION: Final = 1
"""Level of the C++ compiler. That of libraries of functions. Larger: builds take longer, launches less."""
OPTIMIZATION_OF_LAUNCHES: Final = 2
"""Level of the C++ compiler. That of kernels that share memory, which run many threads for each sample. Larger: builds
take longer, launches less."""
COMPILE_LIMIT: Final = 20.0
"""Seconds. What the Slang compiler may take for a file, unless the user asks for another limit. Larger: fewer files are
refused."""
COMPILE_LIMIT_EACH: Final = 0.25
"""Seconds. Added to that for each entry point; ten times what one takes. Larger: fewer files are refused."""
RUN_LIMIT: Final = 60.0
"""Seconds. What the samples of one subject may take, unless the user asks for another limit. Larger: fewer subjects are
stopped."""
RUN_PATIENCE: Final = 4.0
"""Ratio. How many times longer a subject may take where other processes use the processor. Larger: fewer subjects are
stopped."""
POLL_INTERVAL: Final = 0.02
"""Seconds. How often an interrupted check looks whether its processes have ended. Larger: it ends later."""
ROWS_AT_ONCE: Final = 1 << 18
"""Samples. So many run in one launch of threads. Larger: more memory."""
SCALARS_AT_ONCE: Final = 1 << 22
"""Scalars. So many are inputs and results of launches at a time. Larger: more memory."""
INDEX_UNSET: Final = 1 << 30
"""Index. The record of indices starts with this, and minus this. Larger: nothing, up to numbers that overflow."""
TAPE_SIZE: Final = 1 << 14
"""Numbers. So many can be frozen in one run of a twin. Larger: more memory, fewer subjects without a reference."""
SUM_PARTS: Final = 2
"""Parts. Sums of pipelines are put together from so many. Larger: more memory."""
SUM_COPIES: Final = 2
"""Copies. Gradients of pipelines are added up in so many. Larger: more memory."""
FILTER_SHARE: Final = 2.0**-8
"""Share of a texel. Hardware filters may take so much of it from another one: half a step of their weights. Larger:
more is allowed."""
FILTER_SAFETY: Final = 4.0
"""Ratio. Allowance for filters over what was seen; some cut weights off instead of rounding. Larger: more is
allowed."""
FILTER_TRIES: Final = 8
"""Tries. So often texels are mixed to show what filters do. Larger: more of it is seen."""
REPAIR_ROUNDS: Final = 40
"""Rounds. So often parts that do not compile are left out. Larger: fewer files are refused."""
MUTANT_FACTOR: Final = 1.001
"""Ratio. A mutant's gradient over the right one, for the smallest mistake. Larger: the check notices it more easily."""
MUTANT_ROUNDS: Final = 8
"""Rounds. So often mutants in Slang that do not compile are left out. Larger: fewer mutants are lost."""

# == Windows: polynomials through values around a sample

STENCIL_GRAIN: Final = 4096
"""Parts of a half width. Nodes lie at multiples of them, so that sample plus node is exact in float64. Larger: nodes
are rounded."""
CENTRAL_NODES: Final = (751, 1481, 2161, 2753, 3271, 3671, 3943, 4079)
"""Units of the grain. Nodes on either side of a sample. Larger: up to the grain, all of the window is used."""
CENTRAL_DEGREE: Final = 8
"""Degree. The polynomial through the central nodes. Larger: less is cut off, noise counts more."""
CONFIRM_NODES: Final = (313, 929, 1373, 1873, 2309, 2711, 3083, 3457, 3767, 4057)
"""Units of the grain. Other nodes on either side, to confirm a slope. Larger: up to the grain, all of the window is
used."""
CONFIRM_DEGREE: Final = 6
"""Degree. The polynomial through those. Larger: less is cut off, noise counts more."""
SIDE_NODES: Final = (37, 149, 331, 599, 937, 1319, 1753, 2207, 2659, 3079, 3449, 3739, 3947, 4073)
"""Units of the grain. Nodes on one side, without the sample. Larger: up to the grain, all of the window is used."""
SIDE_DEGREE: Final = 7
"""Degree. The polynomial through the nodes on one side. Larger: less is cut off, noise counts more."""
SCATTER_DEGREE: Final = 3
"""Degree. The polynomial through the same nodes that measures scatter. Larger: it follows the noise that it
measures."""
BAR_SAFETY: Final = 12.0
"""Standard errors. Half an error bar; covers what is cut off, which matters more to the slope than to the residue.
Larger: fewer slopes are certain, fewer right ones are accused."""
SCREEN_LEVELS: Final = (3, 7, 11)
"""Binary places below the scale. Windows that suffice for most functions. Larger: narrower windows."""
LADDER: Final = tuple(range(0, 38, 2))
"""Binary places below the scale. Windows of all sizes. Larger: narrower windows."""
NEAR_LEVELS: Final = (24, 26)
"""Binary places below the scale. Narrow windows, for slopes at places close to a sample. Larger: narrower windows."""
WIDE_LEVELS: Final = 6
"""Windows of the ladder. So many of them are wide. Larger: narrower ones count too."""
WINDOW_GRAIN: Final = 2.0**-39
"""Relative to the input. In narrower windows the nodes would be rounded. Larger: narrow windows are not used."""
CERTAIN: Final = 1e-3
"""Relative. Error bar over slope, at most, for a slope to be known. Larger: blunter slopes accuse."""
CONTRADICTING_BAR: Final = 1e3
"""Ratio. A window whose bar is larger than so many times that of a narrower one can't contradict it. Larger: more
windows contradict, fewer slopes are known."""
ROUNDING_STEP: Final = 4096.0 * ULP64
"""Relative to the values. Steps of a staircase up to this high may come from rounding. Larger: real stairs are
smoothed."""
NOISE_CONSTANT: Final = 8.0
"""Ratio. Noise counts as constant if the maxima of the windows differ by at most this factor. A kink's residue shrinks
faster. Larger: kinks are taken for noise."""
NOISE_WINDOWS: Final = 3
"""Windows in a row. Noise must show in so many. Larger: less noise is recognised."""
NOISE_DROP: Final = 64.0
"""Ratio. A window narrower than a step of rounding has so many times less noise than wider ones. Larger: fewer such
windows are recognised."""
SIDE_VALUE: Final = 1e-7
"""Relative. Uncertainty of the value to which a function tends from one side. Larger: small jumps are overlooked."""
AROUND_RADIUS: Final = 2.0**-20
"""Relative. Places up to so far away show which slopes there are close to a sample. Larger: slopes from farther
excuse."""
AROUND_PLACES: Final = 12
"""Places. So many are looked at for that. Larger: rarer slopes excuse."""
AROUND_ZERO: Final = 1e-9
"""Relative to the largest slope there. A smaller error bar is certain even at a slope of zero. Larger: blunter slopes
excuse."""
AROUND_SAME: Final = 1e-2
"""Relative. Slopes close to a sample that differ by less count as equal. Larger: fewer slopes excuse."""

# == Noise of values, judged by float32

NOISE_UNKNOWN: Final = 1e-5
"""Relative to the values. Noise in float64 where there is no float32 to judge by. Larger: more is excused as
rounding."""
NOISE_LEAST: Final = 1e-9
"""Relative to the values. Noise in float64, at least. Larger: more is excused as rounding."""
NOISE_SAFETY: Final = 4000.0
"""Ratio. Noise in float64 over the error in float32 times FINER_F64. Larger: more is excused as rounding."""
FINER_F64: Final = 2.0**-29
"""Ratio. Rounding in float64 over rounding in float32. Larger: not a choice, it is the formats'."""
NOISE_LOST: Final = 0.05
"""Relative to the values. With a larger error in float32, float64 may have lost as much. Larger: fewer values count as
lost."""
NOISY: Final = 4e-9
"""Relative to the values. Values with more noise come from terms that cancel out, so derivatives may too. Larger: fewer
derivatives are excused."""

# == Rounding of derivatives

ROUNDING_UNITS: Final = 1024
"""Ulps. Cotangents and directions move by at most so many, to show how large terms are that cancel out. Larger: a
derivative that is not linear in them shows it as rounding."""
CANCELLATION_TRIES: Final = 12
"""Tries. So often they move. Larger: more of the rounding is seen."""
CONDITION_TRIES: Final = 4
"""Tries. So often inputs move by an ulp, to show the conditioning. Larger: more of the rounding is seen."""
NEIGHBOURS_BESIDE: Final = 8
"""Samples. So many on either side of a sample, by the value of an input, are near it. Larger: sizes farther away
count."""
VALUES_NEAR: Final = 2.0**-6
"""Relative. Inputs move by at most this, to compare values in float32 and float64. Larger: values farther away
count."""
VALUES_NEAR_PLACES: Final = 4
"""Places. So many are compared so. Larger: more noise is seen."""
SCATTER_WINDOWS: Final = tuple(2.0 ** (-2 * k) for k in range(18))
"""Ratio. Sizes of windows in which a derivative's scatter is measured. Larger: wider windows."""
SCATTER_RUN: Final = 5
"""Windows in a row. Scatter must show in so many: a kink shows in wide ones, a mistake at one place in few. Larger:
less is excused as scatter."""
SCATTER_SAFETY: Final = 9.0
"""Ratio. Four standard errors of the noise over the median residue. Larger: more is excused as scatter."""

# == Entries of the Jacobian against the reference

SHARP: Final = 1e-4
"""Relative. Error bar over slope, at most, for an agreement in a screening window to count. Larger: blunter agreements
count."""
NOTHING: Final = 1e-7
"""Relative to what other inputs do. An error bar this small shows that an input does nothing. Larger: small slopes
count as zero."""
NOTHING_DEEP: Final = 10.0
"""Times NOTHING. The same with all windows. Larger: small slopes count as zero."""
STILL: Final = 1e-9
"""Relative to how far the result moves in wide windows. An error bar this small shows a slope of zero. Larger: small
slopes count as zero."""
VALUE_SHARE: Final = 1e-3
"""Share of the value. A result counts as one that moves by at least this. Larger: small slopes count as zero."""
FADED: Final = 100.0
"""Ratio. The size of an entry at other samples counts up to so many times its size nearby. Larger: rounding of large
entries elsewhere excuses small ones."""
GRAIN: Final = 1e-13
"""Relative to value over scale. What rounding of values makes of slopes, at least. Larger: more is excused as
rounding."""
GRAIN_SHARE: Final = 0.1
"""Share of the grain. It is added to how far rounding moves a derivative. Larger: more is excused as rounding."""
BEND: Final = 1e-6
"""Relative. One-sided slopes further apart than this and their bars make a kink. Larger: weak kinks are overlooked."""
STAIRS: Final = 1e-3
"""Relative to the slope across steps. One-sided slopes this certain, and this far from it, show steps. Larger: blunter
slopes show steps, smaller differences do not."""
CONFIRM_BARS: Final = 3.0
"""Error bars. A derivative must be further off than so many, by two sets of nodes, to be wrong. Larger: fewer
accusations."""
CONFIRM_SPREAD: Final = 10.0
"""Ratio. It must be further off than so many times what rounding explains. Larger: fewer accusations."""
CANCELLATION_SEEN: Final = 2.0
"""Ratio, times CONFIRM_SPREAD. Rounding of terms that cancel out over what was seen of it. Larger: fewer
accusations."""
SPREAD_PLACES: Final = 8
"""Places. So many, a few ulps away, show how far rounding moves a derivative. Larger: more of the rounding is seen."""
SPREAD_ULPS: Final = 3
"""Ulps. Inputs move by at most so many for that. Larger: more counts as rounding."""
SPREAD_SAME: Final = 1e-3
"""Share of how far a derivative is off. One that moves by less is the same there. Larger: fewer places count as other
ones."""
CALM: Final = 100.0
"""Ratio. A derivative is off at a sample by so many times its error at those places, at least, to be wrong at just the
sample. Larger: mistakes at single places are excused as rounding."""
CALM_LEAST: Final = 1e-7
"""Relative to the largest entry. What is less off is rounding all the same. Larger: mistakes at single places are
excused."""
ENTRY_ENOUGH: Final = 0.2
"""Share of finite samples. Each entry must have been compared at so many. Larger: more subjects are inconclusive."""
SAMPLES_ENOUGH: Final = 0.1
"""Share of samples. So many must have been compared. Larger: more subjects are inconclusive."""
SAMPLES_ENOUGH_LEAST: Final = 8
"""Samples. So many must have been compared. Larger: more subjects are inconclusive."""

# == Derivatives that overflow on their way

OVERFLOW_SMALL: Final = 2.0**-64
"""Size. What is infinite for cotangents of 1, but finite for those, has overflowed on its way. Larger: less is
excused."""
OVERFLOW_LARGE: Final = 2.0**26
"""Size. Where derivatives for such cotangents are not finite, large ones are not compared. At least as large as the
largest in use. Larger: more samples are left out."""
OVERFLOW_SHARE: Final = 0.25
"""Share of finite samples. If more overflow, there is another reason. Larger: more is excused."""

# == Kinks of several inputs

CORNERS: Final = 40
"""Groups of entries. So many of each kind are looked at. Larger: it takes longer."""
CORNER_SLACK: Final = 1e-3
"""Relative. The sum of entries at a kink may leave the interval of slopes by this. Larger: wrong subgradients pass."""
CORNER_EQUAL: Final = 3
"""Inputs. Of so many equal ones the sum of entries is looked at. Larger: fewer ties are looked at."""
CORNER_PLACES: Final = 48
"""Places. So many close to a sample show which slopes there are. Larger: it takes longer, and more slopes are right."""
CORNER_PLACES_KNOWN: Final = 24
"""Places. At so many the slope must be known. Larger: fewer entries are accused."""
CORNER_RADIUS: Final = 2.0**-19
"""Relative. Those places are at most so far away. Larger: slopes from farther count as right."""
CORNER_ZERO: Final = 1e-6
"""Relative to the largest slope. A smaller error bar is certain even at a slope of zero. Larger: blunter slopes
count."""

# == Ties of inputs

TIES: Final = 64
"""Rows of the Jacobian. So many are looked at. Larger: it takes longer, and fewer ties are accused."""
TIE_SLOPES: Final = 432
"""Slopes. So many are measured in a round, over all entries. Larger: it takes longer."""
TIE_PLACES: Final = (18, 72)
"""Places. At least and at most so many are looked at in a round. Larger: it takes longer."""
TIE_ORDERED: Final = 3
"""Ratio. Places over those whose inputs are in the order of their entries. Larger: fewer are."""
TIE_ROUNDS: Final = 8
"""Rounds. So often places are swapped towards the row in question. Larger: it takes longer."""
TIE_INPUTS: Final = 24
"""Inputs. At most so many of a row are compared. Larger: it takes longer."""
TIE_RADIUS: Final = 2.0**-18
"""Relative. Tied inputs move by at most this. Larger: derivatives from farther excuse."""
TIE_SLACK: Final = 1e-3
"""Relative. How certain slopes must be, and how far a row may be from them. Larger: wrong rows pass at ties."""
TIE_ZERO: Final = 1e-6
"""Relative to the largest entry. The same for entries of zero. Larger: wrong rows pass at ties."""
TIE_SAME: Final = 1e-2
"""Relative. Where entries differ by less there is one derivative, and nothing is excused. Larger: fewer rows are
excused."""
MIXTURE_WEIGHT: Final = 1e3
"""Ratio. Weight of "the shares add up to one" over the largest entry. Larger: the shares fit better, the entries
worse."""
MIXTURE_SUM: Final = 1e-3
"""Relative. The shares may miss one by this. Larger: rows outside the hull count as mixtures."""

# == Legs in float64: one derivative against another

LEG_CONSTANTS: Final = 4.0
"""Times CONSTANTS. What two derivatives may be apart. Larger: small mistakes pass."""
LEG_DOUBT: Final = 3.0
"""Ratio. Error bars and rounding of entries count so many times. Larger: small mistakes pass."""
LEG_ROUNDING: Final = 20.0
"""Ratio. Rounding of terms that cancel out over what was seen of it. Larger: more is excused as rounding."""
LEG_SIZE: Final = 37.0
"""Size. Cotangents and directions of every other sample are so much larger. Larger: other thresholds on sizes are
met."""
SCATTER_PAIRS: Final = 256
"""Pairs of sample and input. At so many that disagree the scatter is measured. Larger: it takes longer."""
SCATTER_WIDTH: Final = 0.125
"""Relative to the input. Scatter is measured up to so far away. Larger: scatter from farther excuses."""
PROPORTION_POWERS: Final = (-20, 20)
"""Powers of two. Cotangents and directions are scaled by them. Larger: farther thresholds on sizes are met."""
PROPORTION_CLOSE: Final = 1e-6
"""Relative to the largest derivative of a row. What a scaled derivative may be off. Larger: small thresholds on sizes
pass."""
CLIPPED_CLOSE: Final = 1e-12
"""Relative to the largest entry. What a clipped gradient may be off besides the constants. Larger: small mistakes
pass."""
PRIMAL_CLOSE: Final = 1e-9
"""Relative. What forward mode's value may be off besides rounding. Larger: small mistakes pass."""

# == Float32 against float64

F32_IMPRECISE: Final = 0.01
"""Relative to the usual size. A float32 derivative further off is imprecise. Larger: more imprecision passes."""
F32_IMPRECISE_HALF: Final = 30.0
"""Ratio. The same where halves take part is so many times larger. Larger: more imprecision passes."""
F32_CANCELLED: Final = 64.0
"""Ulps of the largest derivative. Rounding allowance after cancellation. Larger: more imprecision passes."""
F32_FILTERED: Final = 2.0**-6
"""Relative to the largest derivative. What hardware filters make of it, whose weights have eight bits. Larger: more
passes."""
F32_OFTEN: Final = 0.01
"""Share of samples. At so many, and at two, derivatives must be imprecise. Larger: rarer imprecision passes."""
F32_OFTEN_LEAST: Final = 2
"""Samples. At so many derivatives must be imprecise. Larger: rarer imprecision passes."""
F32_CONDITION: Final = 16.0
"""Ratio. Tolerance over how far float64 derivatives move as inputs move by an ulp of float32. Larger: more passes."""
F32_CONDITION_OWN: Final = 8.0
"""Ratio. The same for float32 derivatives. Larger: more passes."""
F32_CONDITION_ULPS: Final = 4.0
"""Ulps. Inputs of float32 derivatives move by so many for that. Larger: more passes."""
F32_TERMS: Final = 32.0
"""Ulps of the terms. Rounding allowance of a derivative that is nothing but terms that cancel out. Larger: more
passes."""
F32_ALIVE: Final = 0.25
"""Share of samples. If a float32 derivative is not 0 at so many, a 0 is no underflow. Larger: fewer zeros are
excused."""
F32_TRIES_CLOSELY: Final = 32
"""Tries. So often inputs move by rounding where derivatives disagree. Larger: more branches nearby excuse."""
F32_OWN_FUNCTION: Final = 0.1
"""Share of the disagreement. Differences in float32 this close show that float32 computes another function. Larger:
more is excused."""
F32_STEPS: Final = tuple(2.0**-k for k in range(6, 15))
"""Absolute, relative above 1. Steps of those differences, from wide to narrow. Larger: cells of hashes are left."""
F32_STEP_NOISE: Final = 4.0
"""Ulps. Noise of a value in those differences. Larger: fewer differences are certain."""
DEVICE_SAMPLES: Final = 6
"""Samples. So many launches run on a device, where each takes a while. Larger: it takes longer."""

# == Sums over threads

SUM_SIZES: Final[dict[int, tuple[Shape, ...]]] = {
    1: ((1,), (2,), (33,), (257,), (1025,)),
    2: ((1, 1), (2, 1), (3, 11), (1, 257), (41, 25)),
    3: ((1, 1, 1), (1, 2, 1), (3, 1, 11), (1, 257, 1), (5, 5, 41)),
}
"""Threads. Sizes of launches, by the number of axes. Larger: it takes longer."""
SUM_SETTINGS: Final = ((1, 1, 0.5), (3, 2, -0.75), (4, 3, 2.0), (2, 1, 0.25), (7, 4, -1.5))
"""Parts, copies, value. How sums of each size are made up, and what gradient buffers hold before. Larger: more
rounding."""
SUM_ROWS: Final = 2
"""Samples. So many of each size are compared. Larger: it takes longer."""
SUM_DRAWN: Final = 8
"""Samples. So many are drawn, to find finite ones. Larger: fewer sizes are left out."""
SUM_DIRECTIONS: Final = 3
"""Directions. So many for each parameter, where threads share tensors. Larger: it takes longer."""
SUM_ROUNDING: Final = 1e-12
"""Relative to the weighted results. Rounding of terms that cancel out within a thread. Larger: more is excused."""
SUM_ROUNDING_F32: Final = 1e-5
"""Relative to the weighted results. The same in float32. Larger: more is excused."""
SUM_CLOSE_F32: Final = 1e-4
"""Relative to the sum of magnitudes. What a sum in float32 may be off. Larger: small mistakes pass."""
SUM_CLOSE_HALF: Final = 3e-2
"""Relative to the sum of magnitudes. The same where halves take part. Larger: small mistakes pass."""
SUM_COARSE: Final = 1e-3
"""Relative to the sum of magnitudes. A sum in float32 that is less off is imprecise, not wrong. Larger: fewer are
wrong."""
SUM_ORDER: Final = 1e-5
"""Relative. What another order of additions makes of a sum in float32. Larger: races with small effects pass."""
SUM_TRIES: Final = 6
"""Tries. So often inputs and cotangents move by rounding. Larger: more of the rounding is seen."""
SUM_CANCELLED: Final = 40.0
"""Ratio. Rounding of terms that cancel out over what was seen of it. Larger: more is excused as rounding."""
SUM_ULPS: Final = 16.0
"""Ratio. The same for sums in float32. Larger: more is excused as rounding."""
SUM_SCALES: Final = (1e-15, 1e15)
"""Factors. Cotangents are scaled at most so far, to make gradients as large as what buffers hold. Larger: tiny
gradients are compared too."""
SUM_LEAST: Final = 1e-3
"""Absolute. Size of a gradient over shared tensors, at least. Larger: mistakes in small gradients pass."""
SUM_HELD_F32: Final = 2.0**-21
"""Relative to what a buffer holds. Rounding of a sum in float32 into it. Larger: mistakes in small gradients pass."""
SUM_HELD_HALF: Final = 2.0**-8
"""Relative to what a buffer holds. The same where halves take part. Larger: mistakes in small gradients pass."""
SUM_ALONG: Final = 1e-6
"""Relative to the sum of magnitudes. Reverse mode along a direction may be so far from forward mode. Larger: small
mistakes pass."""
SUM_TANGENT: Final = 1e-9
"""Relative to the sum of magnitudes. Uncertainty of forward mode along a direction. Larger: small mistakes pass."""
SUM_SHARP: Final = 1e-4
"""Relative. Error bar of differences along a direction, at most, for them to count. Larger: blunter ones accuse."""

# == Explanations: they change causes and notes, not verdicts, except for lost gradients

CAUSE_CLOSE: Final = 1e-5
"""Relative. Derivatives this close are the same, in the search for a cause. Larger: wrong causes are named."""
CAUSE_ZERO: Final = 1e-3
"""Times CAUSE_CLOSE, relative to the largest. The same where derivatives are near zero. Larger: wrong causes are
named."""
CAUSE_BIG: Final = 1e-6
"""Relative to the largest. Only larger derivatives show a factor. Larger: fewer factors are named."""
CAUSE_FACTOR: Final = 0.1
"""Relative to the factor minus 1. Ratios that differ by less are one factor. Larger: wrong factors are named."""
SIMPLE_FACTORS: Final = (2.0, 0.5, 3.0, 1.0 / 3.0, 4.0, 0.25, 10.0, 0.1)
"""Ratios. Factors that are named without digits. Larger: not a matter of size."""
SAME_FOUND: Final = 1e-6
"""Relative. Failures with derivatives this close are shown as one. Larger: different failures are shown as one."""
EXPLAIN_LEVELS: Final = (9,)
"""Binary places below the scale. The window of slopes in explanations. Larger: a narrower window."""
EXPLAIN_BARS: Final = 4.0
"""Error bars. A difference must be larger than so many to be named. Larger: fewer are named."""
IGNORED_CLOSE: Final = 1e-5
"""Relative. A declared derivative further off the function's own is noted. Larger: fewer are noted."""
IGNORED_SAMPLES: Final = 16
"""Samples. At so many both are compared. Larger: it takes longer."""
IGNORED_SHOWN: Final = 4
"""Inputs. So many are noted. Larger: longer reports."""
LOST_LEAST: Final = 1e-5
"""Absolute. A slope along a parameter that has no gradient fails if it is larger. Larger: fewer lost gradients fail."""
LOST_SAMPLES: Final = 32
"""Samples. At so many that is tried. Larger: rarer lost gradients fail."""
RACE_SAMPLES: Final = 4
"""Samples. At so many failures threads are searched that store to one element. Larger: it takes longer."""
RACE_THREADS: Final = 64
"""Threads. Larger launches are not searched. Larger: it takes longer."""
TRAPS_SHOWN: Final = 2
"""Traps. So many of Slang's traps are named as causes. Larger: longer reports."""
STAGE_STEP: Final = 2.0**-9
"""Relative to the input. The largest step of differences of one stage. Larger: functions that vary quickly show
mistakes."""
STAGE_INPUT_LEAST: Final = 0.1
"""Absolute. Inputs count as at least so large for that. Larger: larger steps at small inputs."""
STAGE_CLOSE: Final = 2e-6
"""Relative. A derivative of a stage further off is wrong. Larger: fewer stages are named."""
STAGE_USUAL_SHARE: Final = 0.01
"""Share of the largest derivative. It is added to a derivative's own size. Larger: fewer stages are named."""
STAGE_DOUBT: Final = 4.0
"""Ratio. The uncertainty of the differences counts so many times. Larger: fewer stages are named."""
STAGE_DIFFERENCES: Final = 1e-12
"""Relative. Uncertainty of extrapolated differences, at least. Larger: fewer stages are named."""
STAGE_INPUTS: Final = 512
"""Inputs. Stages with more are not examined. Larger: it takes longer."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Describe one entry of the table; ``value`` is its text in this file."""

    section: str
    name: str
    value: str
    unit: str
    meaning: str
    larger: str

    @property
    def row(self) -> str:
        """Return the entry as a row of a Markdown table."""
        return f"| `{self.name}` | `{self.value}` | {self.unit} | {self.meaning} | {self.larger} |"


_PARTS: Final = re.compile(r"(?P<unit>[^.]+)\. (?P<meaning>.+) Larger: (?P<larger>.+)\.")
_HEAD: Final = """# Tolerances of the check

Every number that can change a verdict of `slangad check`. The page is printed by the table itself:

```console
$ python -m slangad.compiler.check.tolerances | tail -1
{last}
```
"""
_COLUMNS: Final = "| name | value | unit | what it measures | if it is larger |\n| --- | --- | --- | --- | --- |"


def table() -> Iterator[Tolerance]:
    """Yield the entries of this file, in its order."""
    text = Path(__file__).read_text(encoding="utf-8")
    headings = {number: line[5:] for number, line in enumerate(text.splitlines(), 1) if line.startswith("# == ")}
    for entry, below in pairwise(ast.parse(text).body):
        match entry, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value),
                ast.Expr(value=ast.Constant(value=str(doc))),
            ) if not name.startswith("_"):
                parts = _PARTS.fullmatch(" ".join(doc.split()))
                if parts is None:
                    raise ValueError(f"{name}: the docstring is not 'Unit. Meaning. Larger: effect.'")
                section = headings[max(number for number in headings if number < entry.lineno)]
                source = " ".join((ast.get_source_segment(text, value) or "").split())
                yield Tolerance(section, name, source, parts["unit"], parts["meaning"], parts["larger"])
            case _:
                pass


def markdown() -> str:
    """Return the table as a page in Markdown, with a section for each heading."""
    entries = list(table())
    lines = [_HEAD.format(last=entries[-1].row)]
    for section, group in groupby(entries, lambda entry: entry.section):
        lines += [f"## {section}\n", _COLUMNS, *(entry.row for entry in group), ""]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(markdown())
