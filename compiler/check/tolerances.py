"""List every number that can change a verdict: one table, in the order in which the method uses them.

The docstring of an entry has three parts: the unit, what the number measures, and what happens if it is larger.
A heading ``# == Title`` begins a section. Print the table as Markdown: ``python -m slangad.compiler.check.tolerances``.
"""

from __future__ import annotations

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
"""Samples. Minimum for a subject with many entries; the user may ask for fewer. Larger: it takes longer."""
JACOBIAN_ENTRIES: Final = 1 << 16
"""Entries. Maximum of samples times entries of the Jacobian. A subject with many entries gets fewer samples. Larger: it
takes longer."""
UNDECLARED_INTEGERS: Final = (0.0, 3.0)
"""Values. Integers without a declared range are drawn from this interval. Larger: indices leave their arrays more
often."""
CONSTANTS_MOST: Final = 12
"""Numbers. Maximum of numbers in a program's text that are tried as inputs. Larger: more thresholds are met, by more
samples."""
COLUMNS_MOST: Final = 32
"""Inputs. Maximum of inputs that get samples at zeros and at ends of ranges. Larger: more samples."""
NUMBERS_MOST: Final = 16
"""Samples. Maximum of numbers of the text times inputs at which they are tried. Larger: more thresholds are met, by
more samples."""
COMBINATIONS_MOST: Final = 64
"""Samples. Maximum of combinations of integers that are tried. Larger: more combinations are met, by more samples."""
INTEGERS_TOTAL: Final = 1 << 20
"""Values. Limit of one integer's range in the count of combinations. Larger: nothing, up to numbers that overflow."""
COMBINATION_NUMBERS: Final = 1 << 40
"""Combinations. Limit of combinations from which random ones are drawn. Larger: nothing, up to numbers that
overflow."""
EQUAL_INTEGERS: Final = 4
"""Samples. Samples at which all integers are equal. Larger: more samples."""
THREES_MOST: Final = 6
"""Floats. Up to this number of floats, all groups of three are made equal and all pairs opposite. Larger: more
samples."""
ALL_EQUAL: Final = 4
"""Samples. Samples at which all floats of a type are equal. Larger: more samples."""
INTEGER_OFTEN: Final = 0.25
"""Share. Random samples in which an integer is a number of the text. Larger: fewer samples are random."""
BESIDE_NUMBER_BY: Final = (0.0, 2.0**-12, -(2.0**-12))
"""Relative, absolute above 1. How far beside a number of the text an input is tried. Larger: small branches are
missed."""
SMALL_NUMBER: Final = 0.02
"""Absolute. Smaller numbers of the text may be thresholds of distances, so inputs are drawn that near to zero and to
each other. Larger: more numbers are taken for thresholds."""
SMALL_MOST: Final = 3
"""Numbers. Maximum of small numbers of the text that are tried. Larger: more samples."""
ENDS_MOST: Final = 4
"""Floats. Up to this number of floats, the ends of their ranges are tried in all combinations. Larger: more samples."""
INTEGER_MASK_BITS: Final = 20
"""Bits. Largest shift that is inverted to find integers worth trying. Larger: larger integers are tried."""
INTEGER_LARGEST: Final = (1 << 32) - 1
"""Value. Maximum of an integer that is tried. Larger: not a choice, no type holds larger ones."""
TEXT_LINES: Final = 60
"""Lines. Lines of the text, from the subject on, from which numbers are read. Larger: numbers of other functions are
tried."""

# == Samples outside [-1, 1], for floats without a declared range

OUTSIDE_TIMES: Final = (1.5, -1.5, 1.0, 1.0 + 2.0**-12, 1.0 - 2.0**-12, -1.0)
"""Factors. One float at a time is tried at these multiples of a number of the text. Larger: farther samples."""
OUTSIDE_ALL: Final = 1.5
"""Factor. Samples with all such floats outside reach up to this multiple of a number of the text. Larger: farther
samples."""
OUTSIDE_NUMBER_LARGEST: Final = 1e6
"""Absolute. Larger numbers of the text are not tried: they are constants of physics, or stand for infinity. Larger:
samples at which nothing can be compared."""
OUTSIDE_MOST: Final = 72
"""Samples. Maximum of samples with one float outside. Larger: more samples."""
OUTSIDE_ALL_EACH: Final = 3
"""Samples. Samples with all such floats outside, for each number of the text. Larger: more samples."""

OUTSIDE_F32: Final = 0.05
"""Relative to the values. Samples with a larger error in float32 overflow on the way there, so they show nothing.
Larger: samples that overflow on the way accuse."""
OUTSIDE_LARGEST: Final = 1e38
"""Absolute. Samples with a larger value or derivative show nothing. Larger: samples that overflow on the way accuse."""

# == Functions of many inputs: blocks of inputs first, some entries then

FEW_INPUTS: Final = 96
"""Inputs. A subject with more is examined in blocks. Larger: more subjects are examined entry by entry."""
FEW_RESULTS: Final = 48
"""Results. A subject with more is examined in blocks. Larger: more subjects are examined entry by entry."""
BLOCK_SIZE: Final = 32
"""Inputs. Neighbouring inputs in a block. Larger: a mistake of one input is a smaller part of its block."""
BLOCK_SAMPLES: Final = 6
"""Samples. Samples at which blocks are compared. Larger: it takes longer, and meets more."""
BLOCK_SUSPECTS: Final = 12
"""Inputs. Maximum of wrong inputs that are searched. Larger: it takes longer."""
BLOCK_HALVES: Final = 4
"""Ratio. Maximum of blocks that are halved at a time, over the maximum of wrong inputs. Larger: it takes longer."""
BLOCK_SHOWN_INPUTS: Final = 32
"""Inputs. Inputs that are examined entry by entry besides the suspects. Larger: it takes longer, and meets more."""
BLOCK_SHOWN_RESULTS: Final = 12
"""Results. Results that are examined entry by entry besides those of suspects. Larger: it takes longer, and meets
more."""
BLOCK_WINDOWS: Final = (2.0**-7, 2.0**-12, 2.0**-18)
"""Relative to the scale. Half widths of the windows in which slopes along blocks are measured. Larger: functions that
vary quickly can't be compared."""
BLOCK_SHARP: Final = 1e-5
"""Relative. Error bar of a slope along a block, at most, for the block to be compared. Larger: kinks are taken for
mistakes."""
BLOCK_CONSTANTS: Final = 2.0
"""Times CONSTANTS. Maximum distance of a derivative along a block from the slope, besides the error bar. Larger: small
mistakes pass."""
BLOCK_STEP: Final = 2.0**-10
"""Relative to the scale. How far suspects move, to find the results that they move most. Larger: other results are
shown."""
BLOCK_SIGNS: Final = 6.0
"""Standard deviations. Maximum of what random signs leave of the effects of constants on the terms of a block, which
matters in blocks of more inputs than its square. Larger: small mistakes in large blocks pass."""
BLOCKS_ENOUGH: Final = 0.5
"""Share. Blocks that must have been compared for a verdict. Larger: more subjects are inconclusive."""

# == Large launches: most inputs are compared in blocks only

LARGE_LAUNCH: Final = 1024
"""Inputs. A launch with more is large. Larger: more launches get samples that differ in all inputs, in more memory."""
LARGE_BUFFER: Final = 128
"""Inputs. Inputs of a buffer of a large launch that differ from sample to sample. Larger: more memory."""
LARGE_SUSPECTS: Final = 3
"""Blocks. Maximum of blocks of a large launch that are halved at a time. Larger: it takes longer, and more wrong inputs
are named."""
LARGE_SAMPLES: Final = 24
"""Samples. Samples of a large launch that are compared along directions: blocks at the first ones, all inputs at once
at the others. Larger: it takes longer, and mistakes that few samples meet are met more often."""
LARGE_BLOCKS: Final = 4
"""Blocks. Minimum of blocks of a large launch, whatever they take. Larger: it takes longer, and smaller mistakes are
met."""
LARGE_ROWS: Final = 8
"""Launches. Minimum of large launches that run at a time. Larger: more memory."""
WORK_SCALAR: Final = 4
"""Work. Work of an input of a large launch, which each launch reads from memory. Larger: fewer samples."""
WORK_BLOCK: Final = 54
"""Launches. Launches to compare a block at a sample. Larger: fewer blocks."""

# == Scouts: cheap comparisons at many places

SCOUTS: Final = 2048
"""Places. Maximum of places that are compared cheaply. Larger: rarer mistakes are met, and it takes longer."""
SCOUTS_EACH: Final = 16
"""Ratio. Maximum of scouts over samples. Larger: more scouts where samples are few."""
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
"""Samples. Maximum of scouts that become samples, the worst first. Larger: it takes longer."""

# == Sizes of launches and of pipelines

DOMAINS: Final[dict[int, Shape]] = {1: (5,), 2: (3, 2), 3: (2, 3, 2)}
"""Threads. The domain by its number of axes, where nothing declares one. Larger: launches take longer."""
SMALL_DOMAINS: Final[dict[int, Shape]] = {1: (2,), 2: (2, 1), 3: (1, 2, 1)}
"""Threads. The same where threads take long. Larger: launches take longer."""
DOMAIN_MOST: Final = 24
"""Threads. Limit of the domain. It grows to exceed numbers that a thread's own number is compared with. Larger: more
branches are met, and launches take longer."""
PARAM_BY_VALUE: Final = 1024
"""Scalars. A kernel with a ``Param`` of more is checked launch by launch, with the ``Param`` in memory, and so is a
function with such a parameter. Larger: Slang has to compile functions that take as many by value."""
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
"""Rounds. Attempts to enlarge shapes until they fit all indices. Larger: fewer kernels are refused."""
SHAPE_DOUBLINGS: Final = 3
"""Rounds. Attempts to double extents that a kernel asks for, where an index is below 0. Larger: fewer are refused."""
SHAPE_SAMPLES: Final = 64
"""Samples. Samples that show which indices a kernel uses. Larger: rarer indices are met."""
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
"""Work. Work of one part of a check of launches, about a second. Larger: more samples, and it takes longer."""
WORK_SECONDS: Final = 5e-9
"""Seconds. The time of one unit of work, for programs that are timed. Larger: more samples, and it takes longer."""
TIMED_LEAST: Final = 5e-5
"""Seconds. Processor time of a row from which on a program is timed. Larger: programs with few indices take longer."""
TIMED_FAR: Final = 4.0
"""Ratio. Timed work over counted work from which on the time counts. Larger: programs that compute much take longer."""
WORK_LONG: Final = 1e5
"""Work. Work of a launch from which on it has fewer threads. Larger: launches take longer."""
TIMED_COUNTS: Final = (2, 16, 128)
"""Rows. Rows that are timed, more of them as long as they seem to take long. Larger: programs whose calls are slow, but
not their rows, are not taken for long ones."""
WORK_THREAD: Final = 8
"""Work. Work of a thread besides its indices. Larger: fewer samples."""
WORK_TEXTURE: Final = 32
"""Work. Work of sampling a texture. Larger: fewer samples."""
WORK_SCREEN: Final = 51
"""Launches. Launches to screen a pair of sample and input. Larger: fewer pairs."""
WORK_DEEP: Final = 650
"""Launches. Launches to examine a pair of sample and input with all windows. Larger: fewer pairs."""
WORK_SCOUT: Final = 36
"""Launches. Launches of a scout. Larger: fewer scouts."""
WORK_JACOBIANS: Final = 12
"""Jacobians. Jacobians for each sample. Larger: fewer samples."""
WORK_BACKWARD: Final = 3
"""Launches. Launches of a derivative. Larger: fewer samples."""
WORK_SLICE: Final = 8
"""Launches. Launches at one place of a slice: five values and a derivative. Larger: fewer slices."""
WORK_SAMPLES: Final = 24
"""Samples. Minimum of samples, whatever they take. Larger: it takes longer."""
PAIRS: Final = 6000
"""Pairs of sample and input. Maximum of pairs that are screened. Larger: more entries are compared, and it takes
longer."""
PAIRS_LEAST: Final = 150
"""Pairs of sample and input. Minimum of pairs that are screened, whatever they take. Larger: it takes longer."""
PAIRS_EACH: Final = 12
"""Samples. Minimum of samples that are screened for each input. Larger: it takes longer."""
DEEP: Final = 500
"""Pairs of sample and input. Maximum of pairs that are examined with all windows. Larger: fewer entries stay
undecided."""
DEEP_LEAST: Final = 12
"""Pairs of sample and input. Minimum of pairs that are examined with all windows, whatever they take. Larger: it takes
longer."""
SCOUTS_LEAST: Final = 32
"""Places. Minimum of scouts, whatever they take. Larger: it takes longer."""
ACCUSED: Final = 60
"""Pairs of sample and input. Maximum of pairs whose disagreement is confirmed. Others are only counted. Larger: it
takes longer."""
POINTS_AT_ONCE: Final = 400_000
"""Rows. Rows that are evaluated in one call. Larger: more memory."""
NUMBERS_AT_ONCE: Final = 1 << 21
"""Numbers. Numbers of rows that are evaluated in one call: fewer rows if they are long. Larger: more memory."""
COPIES_AT_ONCE: Final = 1 << 16
"""Numbers. Numbers of moved copies of rows that are evaluated in one call. Larger: fewer calls, more memory."""

# == Pictures

SLICES: Final = 6
"""Slices. Maximum of inputs along which a report draws the function. It changes no verdict. Larger: larger reports."""
SLICE_POINTS: Final = 65
"""Places. Places at which a slice computes the function. It changes no verdict. Larger: finer pictures, larger
reports."""
SLICE_STEP: Final = 2.0**-14
"""Relative to the width of the slice. Step of the slopes that a picture shows as expected. It changes no verdict.
Larger: bent functions have slopes that are visibly off."""

# == Running programs

OPTIMIZATION: Final = "g"
"""Level of the C++ compiler. Level for libraries of functions. Larger: builds take longer, launches less."""
OPTIMIZATION_OF_LAUNCHES: Final = 2
"""Level of the C++ compiler. Level for kernels that share memory, which run many threads for each sample. Larger:
builds take longer, launches less."""
COMPILE_LIMIT: Final = 20.0
"""Seconds. Time for the Slang compiler and a file, unless the user asks for another limit. Larger: fewer files are
refused."""
COMPILE_LIMIT_EACH: Final = 0.25
"""Seconds. Additional time for each entry point; ten times what one takes. Larger: fewer files are refused."""
RUN_LIMIT: Final = 60.0
"""Seconds. Time for the samples of one subject, unless the user asks for another limit. Larger: fewer subjects are
stopped."""
RUN_PATIENCE: Final = 4.0
"""Ratio. Factor on this time where other processes use the processor. Larger: fewer subjects are stopped."""
TIME_SHARE: Final = 0.85
"""Share of the time limit. Nothing more is compared after it: the rest is for the report. Larger: fewer subjects have
a result when their time runs out."""
TIME_SCOUTS: Final = 0.4
"""Share of the time limit. Scouts end at it. Larger: less time for everything else."""
TIME_SCREEN: Final = 0.6
"""Share of the time limit. The first look at entries ends at it. Larger: less time for everything else."""
TIME_ENTRIES: Final = 0.75
"""Share of the time limit. The comparison of entries with the reference ends at it. Larger: less time for the other
legs."""
TIME_PICTURES: Final = 0.6
"""Share of the time limit. Slices, which change no verdict, are computed only before it. Larger: slow programs take
longer."""
TIMED_ROWS: Final = 8
"""Rows. Rows that run first, to see how long one takes. Larger: a slow program ends later."""
TIMED_PAIRS: Final = 2
"""Pairs of sample and input. Pairs that are compared first, to see how long one takes. Larger: a slow program ends
later."""
TIMED_DEEP: Final = 5.0
"""Seconds. Pairs that take less with all windows are examined together. Larger: slow programs have fewer results when
their time is over."""
TIMED_PART: Final = 0.5
"""Seconds. Rows that run between two looks at the time. Larger: a slow program ends later."""
POLL_INTERVAL: Final = 0.02
"""Seconds. Time between attempts to end the processes of an interrupted check. Larger: it ends later."""
ROWS_AT_ONCE: Final = 1 << 18
"""Samples. Samples in one launch of threads. Larger: more memory."""
SCALARS_AT_ONCE: Final = 1 << 22
"""Scalars. Inputs and results of the launches that run at a time. Larger: more memory."""
INDEX_UNSET: Final = 1 << 30
"""Index. The record of indices starts with this, and minus this. Larger: nothing, up to numbers that overflow."""
TAPE_SIZE: Final = 1 << 18
"""Numbers. Maximum of numbers that a twin can freeze in one run. Larger: more memory, fewer subjects without a
reference."""
TAPE_BYTES: Final = 1 << 17
"""Bytes. The same for twins of Slang texts. Larger: more memory, fewer subjects without a reference."""
TAPE_SPARE: Final = 4096
"""Bytes. Maximum size of a value that such a twin can freeze. Larger: more memory, fewer subjects without a
reference."""
SUM_PARTS: Final = 2
"""Parts. Parts of a sum in a pipeline. Larger: more memory."""
SUM_COPIES: Final = 2
"""Copies. Copies of a gradient buffer in a pipeline. Larger: more memory."""
FILTER_SHARE: Final = 2.0**-8
"""Share of a texel. Hardware filters may take so much of it from another one: half a step of their weights. Larger:
more is allowed."""
FILTER_SAFETY: Final = 4.0
"""Ratio. Allowance for filters over what was seen; some cut weights off instead of rounding. Larger: more is
allowed."""
FILTER_TRIES: Final = 8
"""Tries. Random mixtures of texels that show what filters do. Larger: more of it is seen."""
INSTANCES: Final = 8
"""Instances. Maximum for a generic function without ``--specialize``. Larger: more combinations of arguments are
checked, and the check takes longer."""
INSTANCES_OF_FILE: Final = 48
"""Instances. Maximum for all generic functions of a file, as long as each has one. Larger: more combinations of
arguments are checked, and the check takes longer."""
CONFORMING_MODULES: Final = 4
"""Modules. Tried for one interface to which no type of a file conforms. Larger: more generic functions are checked, and
a file whose modules all fail takes longer."""
REPAIR_ROUNDS: Final = 40
"""Rounds. Attempts to leave out parts that do not compile. Larger: fewer files are refused."""
REPAIR_LEAST: Final = 20.0
"""Seconds. Processor time for attempts to compile a file that fail, however fast it compiles. Larger: fewer functions
are left out."""
REPAIR_FACTOR: Final = 2.0
"""Ratio. The same time over that of one compile of the file. Larger: fewer functions of slow files are left out."""
REPAIR_AT_ONCE: Final = 16
"""Compiles. Number between two looks at that time. Larger: it is exceeded further."""
MUTANT_FACTOR: Final = 1.001
"""Ratio. A mutant's gradient over the right one, for the smallest mistake. Larger: the check notices it more easily."""
MUTANT_ROUNDS: Final = 8
"""Rounds. Attempts to leave out mutants in Slang that do not compile. Larger: fewer mutants are lost."""

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
"""Binary places below the scale. Windows that suffice for most functions. Larger: smaller windows."""
SCREEN_STEPS: Final = ((1,), (0, 2))
"""Places in SCREEN_LEVELS. Windows of functions that take long: the later ones are measured only where the earlier ones
settle nothing. Larger: it takes longer."""
LADDER: Final = tuple(range(0, 38, 2))
"""Binary places below the scale. Windows of all sizes. Larger: smaller windows."""
NEAR_LEVELS: Final = (24, 26)
"""Binary places below the scale. Small windows, for slopes at places close to a sample. Larger: smaller windows."""
FARTHER: Final = (0, 4, 8, 12)
"""Binary places. How much farther places lie, with larger windows, where rounding hides the slopes close to a sample.
Larger: slopes from farther count as those of the sample."""
FARTHER_KNOWN: Final = 0.95
"""Share of places. Minimum of places whose slopes are known, so that no farther ones are tried. Larger: slopes from
farther count."""
LARGE_WINDOWS: Final = 6
"""Windows of the ladder. Number of windows that count as large. Larger: smaller windows count too."""
WINDOW_GRAIN: Final = 2.0**-39
"""Relative to the input. In smaller windows the nodes would be rounded. Larger: small windows are not used."""
CERTAIN: Final = 1e-3
"""Relative. Maximum of error bar over slope for a slope to be known. Larger: blunter slopes accuse."""
CONTRADICTING_BAR: Final = 1e3
"""Ratio. A window that disagrees with smaller ones rules out all larger ones, unless its bar is this many times theirs.
Larger: more windows are ruled out, fewer slopes are known."""
ROUNDING_STEP: Final = 4096.0 * ULP64
"""Relative to the values. Steps of a staircase up to this high may come from rounding. Larger: real stairs are
smoothed."""
NOISE_CONSTANT: Final = 8.0
"""Ratio. Noise counts as constant if the maxima of the windows differ by at most this factor. A kink's residue shrinks
faster. Larger: kinks are taken for noise."""
NOISE_WINDOWS: Final = 3
"""Windows in a row. Windows in which noise must show. Larger: less noise is recognised."""
NOISE_DROP: Final = 64.0
"""Ratio. Noise of larger windows over that of a window smaller than a step of rounding, at least. Larger: fewer such
windows are recognised."""
SIDE_VALUE: Final = 1e-7
"""Relative. Uncertainty of the value to which a function tends from one side. Larger: small jumps are overlooked."""
AROUND_RADIUS: Final = 2.0**-20
"""Relative. Places up to so far away show which slopes there are close to a sample. Larger: slopes from farther
excuse."""
AROUND_PLACES: Final = 12
"""Places. Places whose slopes are measured. Larger: rarer slopes excuse."""
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
"""Relative to the values. Error in float32 above which float64 may have lost as much. Larger: fewer values count as
lost."""
NOISY: Final = 4e-9
"""Relative to the values. Noise above which values come from terms that cancel out. Derivatives may do so too. Larger:
fewer derivatives are excused."""

# == Rounding of derivatives

ROUNDING_UNITS: Final = 1024
"""Ulps. Maximum move of cotangents and directions, which shows the size of terms that cancel out. Larger: a derivative
that is not linear in them shows it as rounding."""
CANCELLATION_TRIES: Final = 12
"""Tries. Random moves of cotangents and directions. Larger: more of the rounding is seen."""
CONDITION_TRIES: Final = 4
"""Tries. Random moves of inputs by an ulp, which show the conditioning. Larger: more of the rounding is seen."""
NEIGHBOURS_BESIDE: Final = 8
"""Samples. Samples on either side that count as near, in the order of an input's values. Larger: sizes farther away
count."""
VALUES_NEAR: Final = 2.0**-6
"""Relative. Maximum move of inputs to compare values in float32 and float64. Larger: values farther away count."""
VALUES_NEAR_PLACES: Final = 4
"""Places. Random moves for that. Larger: more noise is seen."""
SCATTER_WINDOWS: Final = tuple(2.0 ** (-2 * k) for k in range(18))
"""Ratio. Sizes of windows in which a derivative's scatter is measured. Larger: larger windows."""
SCATTER_RUN: Final = 5
"""Windows in a row. Windows in which scatter must show. A kink shows in large windows, a mistake at one place in few.
Larger: less is excused as scatter."""
SCATTER_SAFETY: Final = 9.0
"""Ratio. Four standard errors of the noise over the median residue. Larger: more is excused as scatter."""

# == Entries of the Jacobian against the reference

SHARP: Final = 1e-4
"""Relative. Maximum of error bar over slope for an agreement in a screening window to count. Larger: blunter agreements
count."""
NOTHING: Final = 1e-7
"""Relative to what other inputs do. Maximum of an error bar that shows that an input does nothing. Larger: small slopes
count as zero."""
NOTHING_DEEP: Final = 10.0
"""Times NOTHING. The same with all windows. Larger: small slopes count as zero."""
STILL: Final = 1e-9
"""Relative to how far the result moves in large windows. Maximum of an error bar that shows a slope of zero. Larger:
small slopes count as zero."""
VALUE_SHARE: Final = 1e-3
"""Share of the value. A result counts as one that moves by at least this. Larger: small slopes count as zero."""
FADED: Final = 100.0
"""Ratio. Maximum of an entry's usual size over its size nearby, in its tolerance. Larger: rounding of large entries
elsewhere excuses small ones."""
GRAIN: Final = 1e-13
"""Relative to value over scale. Minimum of the effect that rounding of values has on slopes. Larger: more is excused as
rounding."""
HIDDEN_SIZE: Final = 1.0
"""Absolute. Where values are constant, rounding of numbers up to this size may hide a slope. Larger: more is excused as
rounding."""
GRAIN_SHARE: Final = 0.1
"""Share of the grain. It is added to how far rounding moves a derivative. Larger: more is excused as rounding."""
BEND: Final = 1e-6
"""Relative. One-sided slopes further apart than this and their bars make a kink. Larger: weak kinks are overlooked."""
STAIRS: Final = 1e-3
"""Relative to the slope across steps. One-sided slopes this certain, and this far from it, show steps. Larger: blunter
slopes show steps, smaller differences do not."""
CONFIRM_BARS: Final = 3.0
"""Error bars. Minimum distance of a wrong derivative from slopes by two sets of nodes. Larger: fewer accusations."""
CONFIRM_SPREAD: Final = 10.0
"""Ratio. Minimum distance of a wrong derivative over the effect of rounding. Larger: fewer accusations."""
CANCELLATION_SEEN: Final = 2.0
"""Ratio, times CONFIRM_SPREAD. Rounding of terms that cancel out over what was seen of it. Larger: fewer
accusations."""
SPREAD_PLACES: Final = 8
"""Places. Places a few ulps away, which show how far rounding moves a derivative. Larger: more of the rounding is
seen."""
SPREAD_ULPS: Final = 3
"""Ulps. Maximum distance of these places. Larger: more counts as rounding."""
SPREAD_SAME: Final = 1e-3
"""Share of how far a derivative is off. Maximum move of a derivative that counts as the same. Larger: fewer places
count as different."""
CALM: Final = 100.0
"""Ratio. Minimum of a derivative's error at a sample over its error at these places, for an error of just the sample.
Larger: mistakes at single places are excused as rounding."""
CALM_LEAST: Final = 1e-7
"""Relative to the largest entry. Minimum error of a derivative that is wrong at just the sample. Larger: mistakes at
single places are excused."""
ENTRY_ENOUGH: Final = 0.2
"""Share of finite samples. Samples at which every entry must have been compared. Larger: more subjects are
inconclusive."""
SAMPLES_ENOUGH: Final = 0.1
"""Share of samples. Samples that must have been compared. Larger: more subjects are inconclusive."""
SAMPLES_ENOUGH_LEAST: Final = 8
"""Samples. Number of samples that must have been compared. Larger: more subjects are inconclusive."""

# == Derivatives that overflow on their way

OVERFLOW_SMALL: Final = 2.0**-64
"""Size. What is infinite for cotangents of 1, but finite for those, has overflowed on its way. Larger: less is
excused."""
OVERFLOW_LARGE: Final = 2.0**26
"""Size. Large cotangents are not compared at samples where derivatives for this size are not finite. Larger: more
samples are left out."""
OVERFLOW_SHARE: Final = 0.25
"""Share of finite samples. If more overflow, there is another reason. Larger: more is excused."""

# == Kinks of several inputs

CORNERS: Final = 40
"""Groups of entries. Maximum of groups of each kind. Larger: it takes longer."""
CORNER_SLACK: Final = 1e-3
"""Relative. The sum of entries at a kink may leave the interval of slopes by this. Larger: wrong subgradients pass."""
CORNER_EQUAL: Final = 3
"""Inputs. Minimum of equal inputs for the sum of their entries to be compared. Larger: fewer ties are compared."""
CORNER_PLACES: Final = 48
"""Places. Places close to a sample whose slopes are measured. Larger: it takes longer, and more slopes are right."""
CORNER_PLACES_KNOWN: Final = 24
"""Places. Places at which the slope must be known. Larger: fewer entries are accused."""
CORNER_RADIUS: Final = 2.0**-19
"""Relative. Maximum distance of these places. Larger: slopes from farther count as right."""
CORNER_CLOSER: Final = 10
"""Binary places. How much closer a second set of places is, in smaller windows. Larger: rounding hides its slopes."""
CORNER_ZERO: Final = 1e-6
"""Relative to the largest slope. A smaller error bar is certain even at a slope of zero. Larger: blunter slopes
count."""

# == Ties of inputs

TIES: Final = 64
"""Rows of the Jacobian. Maximum of rows that are compared. Larger: it takes longer, and fewer ties are accused."""
TIE_SLOPES: Final = 432
"""Slopes. Slopes that are measured in a round, over all entries. Larger: it takes longer."""
TIE_PLACES: Final = (18, 72)
"""Places. Minimum and maximum of places in a round. Larger: it takes longer."""
TIE_ORDERED: Final = 3
"""Ratio. Places over those whose inputs are in the order of their entries. Larger: fewer are."""
TIE_ROUNDS: Final = 8
"""Rounds. Rounds, each with places closer to the row in question. Larger: it takes longer."""
TIE_INPUTS: Final = 24
"""Inputs. Maximum of inputs of a row that are compared. Larger: it takes longer."""
TIE_RADIUS: Final = 2.0**-18
"""Relative. Maximum move of tied inputs. Larger: derivatives from farther excuse."""
TIE_SLACK: Final = 1e-3
"""Relative. How certain slopes must be, and how far a row may be from them. Larger: wrong rows pass at ties."""
TIE_BENT: Final = 4.0
"""Ratio. How far a row may be from those nearby, relative, over their distance, if that is more. Larger: wrong rows
pass at ties of values with much rounding."""
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
"""Times CONSTANTS. Maximum distance of two derivatives. Larger: small mistakes pass."""
LEG_DOUBT: Final = 3.0
"""Ratio. Weight of error bars and of rounding of entries. Larger: small mistakes pass."""
LEG_ROUNDING: Final = 20.0
"""Ratio. Rounding of terms that cancel out over what was seen of it. Larger: more is excused as rounding."""
LEG_SIZE: Final = 37.0
"""Size. Factor on the cotangents and directions of every other sample. Larger: other thresholds on sizes are met."""
SCATTER_PAIRS: Final = 256
"""Pairs of sample and input. Maximum of pairs that disagree whose scatter is measured. Larger: it takes longer."""
SCATTER_WIDTH: Final = 0.125
"""Relative to the input. Maximum distance at which scatter is measured. Larger: scatter from farther excuses."""
PROPORTION_POWERS: Final = (-20, 20)
"""Powers of two. Cotangents and directions are scaled by them. Larger: farther thresholds on sizes are met."""
PROPORTION_CLOSE: Final = 1e-6
"""Relative to the largest derivative of a row. Maximum distance of a scaled derivative. Larger: small thresholds on
sizes pass."""
CLIPPED_CLOSE: Final = 1e-12
"""Relative to the largest entry. Maximum distance of a clipped gradient, besides the constants. Larger: small mistakes
pass."""
PRIMAL_CLOSE: Final = 1e-9
"""Relative. Maximum distance of forward mode's value, besides rounding. Larger: small mistakes pass."""

# == Float32 against float64

F32_IMPRECISE: Final = 0.01
"""Relative to the usual size. Distance above which a float32 derivative is imprecise. Larger: more imprecision
passes."""
F32_IMPRECISE_HALF: Final = 30.0
"""Ratio. Factor for that if halves take part. Larger: more imprecision passes."""
F32_CANCELLED: Final = 64.0
"""Ulps of the largest derivative. Rounding allowance after cancellation. Larger: more imprecision passes."""
F32_FILTERED: Final = 2.0**-6
"""Relative to the largest derivative. What hardware filters make of it, whose weights have eight bits. Larger: more
passes."""
F32_OFTEN: Final = 0.01
"""Share of samples. Samples at which derivatives must be imprecise. Larger: rarer imprecision passes."""
F32_OFTEN_LEAST: Final = 2
"""Samples. Minimum of such samples. Larger: rarer imprecision passes."""
F32_ASIDE: Final = 2.0**-12
"""Relative to the scale of an input. Distance from a degenerate number at which float32 has to be finite again, if the
number is the cause. Larger: overflow near it counts as ``UNGUARDED``."""
F32_CONDITION: Final = 16.0
"""Ratio. Tolerance over how far float64 derivatives move as inputs move by an ulp of float32. Larger: more passes."""
F32_CONDITION_OWN: Final = 8.0
"""Ratio. The same for float32 derivatives. Larger: more passes."""
F32_CONDITION_ULPS: Final = 4.0
"""Ulps. Move of the inputs of float32 derivatives for that. Larger: more passes."""
F32_TERMS: Final = 32.0
"""Ulps of the terms. Rounding allowance of a derivative that is nothing but terms that cancel out. Larger: more
passes."""
F32_ALIVE: Final = 0.25
"""Share of samples. Samples at which a float32 derivative is not 0. From this share on, a 0 at other samples is no
underflow. Larger: fewer zeros are excused."""
F32_TRIES_CLOSELY: Final = 32
"""Tries. Random moves of inputs by rounding where derivatives disagree. Larger: more branches nearby excuse."""
F32_OWN_FUNCTION: Final = 0.1
"""Share of the disagreement. Differences in float32 this close show that float32 computes another function. Larger:
more is excused."""
F32_STEPS: Final = tuple(2.0**-k for k in range(6, 15))
"""Absolute, relative above 1. Steps of those differences, from large to small. Larger: cells of hashes are left."""
F32_STEP_NOISE: Final = 4.0
"""Ulps. Noise of a value in those differences. Larger: fewer differences are certain."""
DEVICE_SAMPLES: Final = 6
"""Samples. Launches that run on a device, where each takes a while. Larger: it takes longer."""

# == Sums over threads

SUM_SIZES: Final[dict[int, tuple[Shape, ...]]] = {
    1: ((1,), (2,), (33,), (257,), (1025,)),
    2: ((1, 1), (2, 1), (3, 11), (1, 257), (41, 25)),
    3: ((1, 1, 1), (1, 2, 1), (3, 1, 11), (1, 257, 1), (5, 5, 41)),
}
"""Threads. Sizes of launches, by the number of axes. Larger: it takes longer."""
SUM_SIZES_LEAST: Final = 3
"""Sizes. The first sizes are always launched, however long a thread takes. Larger: slow programs take longer."""
SUM_TIME: Final = 15.0
"""Seconds. A size that would take longer, by the time of the one before it, is left out. Larger: slow programs take
longer."""
SUM_SETTINGS: Final = ((1, 1, 0.5), (3, 2, -0.75), (4, 3, 2.0), (2, 1, 0.25), (7, 4, -1.5))
"""Parts, copies, value. How sums of each size are made up, and what gradient buffers hold before. Larger: more
rounding."""
SUM_ROWS: Final = 2
"""Samples. Samples of each size that are compared. Larger: it takes longer."""
SUM_DRAWN: Final = 8
"""Samples. Samples of each size that are drawn, to find finite ones. Larger: fewer sizes are left out."""
SUM_DIRECTIONS: Final = 3
"""Directions. Directions for each parameter, where threads share tensors. Larger: it takes longer."""
SUM_ROUNDING: Final = 1e-12
"""Relative to the weighted results. Rounding of terms that cancel out within a thread. Larger: more is excused."""
SUM_ROUNDING_F32: Final = 1e-5
"""Relative to the weighted results. The same in float32. Larger: more is excused."""
SUM_CLOSE_F32: Final = 1e-4
"""Relative to the sum of magnitudes. Maximum distance of a sum in float32. Larger: small mistakes pass."""
SUM_CLOSE_HALF: Final = 3e-2
"""Relative to the sum of magnitudes. The same where halves take part. Larger: small mistakes pass."""
SUM_COARSE: Final = 1e-3
"""Relative to the sum of magnitudes. A sum in float32 that is less off is imprecise, not wrong. Larger: fewer are
wrong."""
SUM_ORDER: Final = 1e-5
"""Relative. What another order of additions makes of a sum in float32. Larger: races with small effects pass."""
SUM_TRIES: Final = 6
"""Tries. Random moves of inputs and cotangents by rounding. Larger: more of the rounding is seen."""
SUM_CANCELLED: Final = 40.0
"""Ratio. Rounding of terms that cancel out over what was seen of it. Larger: more is excused as rounding."""
SUM_ULPS: Final = 16.0
"""Ratio. The same for sums in float32. Larger: more is excused as rounding."""
SUM_SCALES: Final = (1e-15, 1e15)
"""Factors. Limits of the factor on cotangents that makes gradients as large as the contents of buffers. Larger: tiny
gradients are compared too."""
SUM_LEAST: Final = 1e-3
"""Absolute. Size of a gradient over shared tensors, at least. Larger: mistakes in small gradients pass."""
SUM_HELD_F32: Final = 2.0**-21
"""Relative to what a buffer holds. Rounding of a sum in float32 into it. Larger: mistakes in small gradients pass."""
SUM_HELD_HALF: Final = 2.0**-8
"""Relative to what a buffer holds. The same where halves take part. Larger: mistakes in small gradients pass."""
SUM_ALONG: Final = 1e-6
"""Relative to the sum of magnitudes. Maximum distance of reverse mode from forward mode along a direction. Larger:
small mistakes pass."""
SUM_TANGENT: Final = 1e-9
"""Relative to the sum of magnitudes. Uncertainty of forward mode along a direction. Larger: small mistakes pass."""
SUM_SHARP: Final = 1e-4
"""Relative. Error bar of differences along a direction, at most, for them to count. Larger: blunter ones accuse."""

MEMORY_CLOSE: Final = 1e-9
"""Relative to the largest gradient of a sample. Distance of the sum of several threads from that many times one
thread's. Larger: small losses pass."""

# == Explanations: they change causes and notes, not verdicts, except for lost gradients

NEVER_STORED: Final = 1e290
"""Derivatives. A larger one comes from a variable that is never stored, which the check makes -5e303. Larger: the
cause is not named."""

CAUSE_CLOSE: Final = 1e-5
"""Relative. Derivatives this close are the same, in the search for a cause. Larger: wrong causes are named."""
CAUSE_ZERO: Final = 1e-3
"""Times CAUSE_CLOSE, relative to the largest. The same where derivatives are near zero. Larger: wrong causes are
named."""
CAUSE_BIG: Final = 1e-6
"""Relative to the largest. Only larger derivatives show a factor. Larger: fewer factors are named."""
CAUSE_FACTOR: Final = 0.1
"""Relative to the factor minus 1. Ratios that differ by less are one factor. Larger: wrong factors are named."""
SIGN_SAMPLES: Final = 8
"""Samples. So many wrong ones of one sign of an input, and right ones of the other, show that the sign matters. Larger:
fewer signs are named."""
SIMPLE_FACTORS: Final = (2.0, 0.5, 3.0, 1.0 / 3.0, 4.0, 0.25, 10.0, 0.1)
"""Ratios. Factors that are named without digits. Larger: not a matter of size."""
SAME_FOUND: Final = 1e-6
"""Relative. Failures with derivatives this close are shown as one. Larger: different failures are shown as one."""
EXPLAIN_LEVELS: Final = (9,)
"""Binary places below the scale. The window of slopes in explanations. Larger: a smaller window."""
EXPLAIN_BARS: Final = 4.0
"""Error bars. Minimum of a difference that is named. Larger: fewer are named."""
IGNORED_CLOSE: Final = 1e-5
"""Relative. A declared derivative further off the function's own is noted. Larger: fewer are noted."""
IGNORED_SAMPLES: Final = 16
"""Samples. Samples at which both are compared. Larger: it takes longer."""
IGNORED_SHOWN: Final = 4
"""Inputs. Maximum of inputs that are noted. Larger: longer reports."""
LOST_LEAST: Final = 1e-5
"""Absolute. A slope along a parameter that has no gradient fails if it is larger. Larger: fewer lost gradients fail."""
LOST_SAMPLES: Final = 32
"""Samples. Samples at which lost gradients are searched. Larger: rarer lost gradients fail."""
MEMORY_ENTRIES: Final = 8
"""Elements. The size of a buffer that a Slang function uses. An index beyond it starts again. Larger: indices collide
less, and each entry of the Jacobian is compared at fewer samples."""
TENSOR_ENTRIES: Final = 16
"""Elements. The size of a tensor that a Slang function uses: four by four. Larger: indices collide less, and each entry
of the Jacobian is compared at fewer samples."""
TENSOR_AXES: Final = 4
"""Axes. The most axes of a tensor of a Slang function in the check. Larger: tensors with more axes are checked."""
TENSOR_EXTENT: Final = 4
"""Elements. The extent of each axis of such a tensor. Larger: loops over an axis run longer."""
MEMORY_FIELDS: Final = 24
"""Buffers. The most that the objects of a Slang function may hold. Larger: functions with more inputs are checked."""
RACE_SAMPLES: Final = 4
"""Samples. Failures for which threads are searched that store to one element. Larger: it takes longer."""
RACE_THREADS: Final = 64
"""Threads. Maximum of threads in a launch that is searched. Larger: it takes longer."""
IN_ANOTHER_ORDER: Final = 1e-9
"""Of the largest gradient or value. What two orders of the threads of a group may change in float64. Larger: races may
pass."""
ORDER_LEAST: Final = 1e-12
"""Absolute, for cotangents of about 1. What two orders may change in gradients whose terms cancel out. Larger: races
may pass."""
ORDER_ROWS: Final = 3
"""Samples. Samples over whole groups that run in both orders. Larger: it takes longer."""
ORDER_THREADS: Final = 2048
"""Threads. Maximum of threads of a launch with partly filled groups along every axis. Larger: it takes longer."""
TRAPS_SHOWN: Final = 2
"""Traps. Maximum of Slang's traps that are named as causes. Larger: longer reports."""
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
"""Ratio. Weight of the uncertainty of the differences. Larger: fewer stages are named."""
STAGE_DIFFERENCES: Final = 1e-12
"""Relative. Uncertainty of extrapolated differences, at least. Larger: fewer stages are named."""
STAGE_INPUTS: Final = 512
"""Inputs. Maximum of inputs of a stage that is examined. Larger: it takes longer."""


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
    import ast

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
