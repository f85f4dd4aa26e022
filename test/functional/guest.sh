#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs in the guest, as the SCRIPT of test/vm/run:
#   guest.sh BOOT FS [--native] [--only PATTERN] [--long] [--cycles N]
#   guest.sh --one BOOT FS FUNCTION NAME     (what it calls itself with)
#
# BOOT names a file of /mars/test/t. Each test of it is a shell function and
# runs in a process of its own, with a time limit and `set -e`: it passes if it
# ends with 0, is skipped if it ends with 77 (the last line says why), fails
# otherwise. Results go to /out/results, one line a test; the host compares
# them with test/manifest, so a test that says nothing has failed.

set -eu

if [ "$1" = --one ]; then
	BOOT=$2 FS=$3 one=$4 name=$5
else
	BOOT=$1 FS=$2 one=
	shift 2
	ONLY='*'
	while [ $# -gt 0 ]; do
		case $1 in
		--native) export MREAD_NATIVE=1 ;;
		--only) ONLY=$2; shift ;;
		--long) export MREAD_LONG=1 ;;
		--cycles) export CYCLES="$2"; shift ;;
		*) echo "guest.sh: unknown argument $1" >&2; exit 2 ;;
		esac
		shift
	done
fi
export BOOT FS

# shellcheck source=test/functional/lib.sh
. /mars/test/lib.sh

setup_failed=
# t NAME SECONDS FUNCTION [FS...]: one test, on these file systems only. The
# function gets its name. KASAN and lockdep take their time.
t()
{
	[ -z "$one" ] || return 0
	if [ $# -gt 3 ]; then
		case " $4 ${5-} ${6-} " in
		*" $FS "*) ;;
		*) return 0 ;;
		esac
	fi
	# shellcheck disable=SC2254  # a pattern is meant
	case $1 in
	$ONLY | setup) ;;
	*) return 0 ;;
	esac
	if [ -n "$setup_failed" ]; then
		echo "not ok $1 - not run: setup failed" >>/out/results
		return 0
	fi
	echo "<6>mars-test: $BOOT/$FS $1 begins" >/dev/kmsg
	begin=$(uptime_cs)
	rc=0
	timeout -k 5 $(($2 * TIME_FACTOR)) sh /mars/test/guest.sh --one "$BOOT" "$FS" "$3" "$1" \
		>"/out/$1.log" 2>&1 </dev/null || rc=$?
	took=$(($(uptime_cs) - begin))
	last=$(tail -n 1 "/out/$1.log")
	case $rc in
	0) line="ok $1" ;;
	77) line="ok $1 # SKIP $last" ;;
	124 | 137 | 143) line="not ok $1 - no end after $2 s (x $TIME_FACTOR); last line: $last" ;;
	*) line="not ok $1 - $last" ;;
	esac
	[ "$1" != setup ] || [ "$rc" = 0 ] || setup_failed=1
	echo "$line" >>/out/results
	echo "$1 $((took / 100)).$((took % 100))" >>/out/times
	echo "mars-test: $line ($((took / 100)) s)"
	[ "$rc" = 0 ] || [ "$rc" = 77 ] || sed 's/^/    /' "/out/$1.log" | tail -n 15
}

# shellcheck source=/dev/null
. "/mars/test/t/$BOOT.sh"

if [ -n "$one" ]; then
	"$one" "$name"
	exit 0
fi
sync
echo "end" >>/out/results
