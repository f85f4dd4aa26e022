# SPDX-License-Identifier: GPL-2.0-only
"""Cells of text in aligned columns, and figures as they stand in them."""


def columns(lines):
    """Lines of cells, aligned; the first line is the heading."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    text = []
    for number, line in enumerate(lines):
        text.append("  ".join(cell.rjust(width) for cell, width in zip(line, widths)).rstrip())
        if number == 0:
            text.append("  ".join("-" * width for width in widths))
    return "\n".join(text)


def percent(value):
    return f"{100 * value:.0f} %" if value < 9.995 else f"{value + 1:.0f} x"


def rate(about):
    if not about:
        return "-"
    return f"{about['median']:.0f} ({about['min']:.0f}-{about['max']:.0f})"


def ratio(found):
    return f"{found['ratio']:.2f} [{found['low']:.2f}, {found['high']:.2f}]" if found else "-"
