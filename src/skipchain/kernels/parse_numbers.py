"""Numbers written as text."""

from __future__ import annotations

import numpy as np

from skipchain.kernels.kernel import kernel

EXACT_POWERS = np.array([float(10**k) for k in range(23)])  # the powers of ten that are doubles
MAX_EXACT_INTEGER = 1 << 53  # up to here every whole number is a double


@kernel
def parse_cells(text, starts, lengths, several, table, done):
    """The decimal numbers of each cell, where all of them are plain: table [V, W], done [V].

    text [K] are the characters as bytes. A number is d · 10^e with a whole d; where d is below 2^53
    and |e| at most 22, both are doubles, and one product or quotient gives the nearest double
    (Clinger 1990). A cell with anything else, or with more or fewer than W numbers, is not done.
    With ``several`` there are spaces or commas between numbers; else the cell is one number.
    """
    width = table.shape[1]
    for v in range(starts.shape[0]):
        done[v] = False
        here = starts[v]
        stop = here + lengths[v]
        count, good = 0, True
        while good:
            while several and here < stop and (text[here] == 32 or text[here] == 44):
                here += 1
            if here >= stop:
                break
            negative = text[here] == 45
            if negative or text[here] == 43:
                here += 1
            whole = np.int64(0)
            power, digits = 0, 0
            point = False
            while here < stop and (48 <= text[here] <= 57 or (text[here] == 46 and not point)):
                if text[here] == 46:
                    point = True
                else:
                    digits += 1
                    if whole < MAX_EXACT_INTEGER:
                        whole = 10 * whole + (text[here] - 48)
                    else:
                        good = False
                    power -= point
                here += 1
            if here < stop and (text[here] == 101 or text[here] == 69):
                here += 1
                down = here < stop and text[here] == 45
                if here < stop and (down or text[here] == 43):
                    here += 1
                size, after = 0, here
                while here < stop and 48 <= text[here] <= 57 and size < 1000:
                    size = 10 * size + (text[here] - 48)
                    here += 1
                if here == after:
                    good = False
                power += -size if down else size
            ended = here >= stop or (several and (text[here] == 32 or text[here] == 44))
            exact = whole <= MAX_EXACT_INTEGER and abs(power) <= 22
            if not (ended and digits > 0 and exact and count < width):
                good = False
            if good:
                number = np.float64(whole)
                if power < 0:
                    number /= EXACT_POWERS[-power]
                else:
                    number *= EXACT_POWERS[power]
                table[v, count] = -number if negative else number
                count += 1
        done[v] = good and count == width and count > 0
