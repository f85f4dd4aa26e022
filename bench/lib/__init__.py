# SPDX-License-Identifier: GPL-2.0-only
"""What bench/run, bench/ab and bench/report share."""
