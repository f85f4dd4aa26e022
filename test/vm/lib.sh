# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034
#
# Shared by the scripts of test/vm: messages, the cache and its locks.

VM_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TOP=$(cd "$VM_DIR/../.." && pwd)
PROG=${0##*/}
CACHE=${MARS_CACHE:-/var/cache/mars-test}

# Exit codes of test/vm/run when the fault is not the script's own. All are
# high, so that a script's small statuses stay readable.
{
	EX_EXPECT=119   # a declared report did not occur
	EX_SETUP=120    # a kernel, package or build is missing
	EX_REPORT=121   # the kernel log holds a report
	EX_PANIC=122    # the guest's kernel panicked
	EX_SILENT=123   # the guest ended without a verdict
	EX_TIMEOUT=124  # the guest was stopped at its time limit
	EX_USAGE=125    # wrong call
}

note()
{
	printf '%s: %s\n' "$PROG" "$*" >&2
}

# die CODE MESSAGE…
die()
{
	local code=$1

	shift
	note "$*"
	exit "$code"
}

need()
{
	local tool

	for tool in "$@"; do
		command -v "$tool" >/dev/null ||
			die "$EX_SETUP" "the program '$tool' is missing; run test/setup"
	done
}

# with_lock NAME COMMAND…: several checkouts and runs share one cache, so
# whatever fills an entry of it holds that entry's lock. The command runs in a
# subshell with set -e: under "||" it would go on after a failed step.
with_lock()
{
	local lock=$1 lock_fd lock_rc lock_e=+e

	shift
	mkdir -p "$CACHE/locks" ||
		die "$EX_SETUP" "cannot write the cache $CACHE; set MARS_CACHE to a writable directory"
	exec {lock_fd}>"$CACHE/locks/$lock"
	flock -w 3600 "$lock_fd" ||
		die "$EX_SETUP" "waited an hour for the lock $CACHE/locks/$lock; is another run stuck?"
	case $- in *e*) lock_e=-e ;; esac
	set +e
	(set -e; "$@") {lock_fd}>&-
	lock_rc=$?
	set "$lock_e"
	exec {lock_fd}>&-
	return "$lock_rc"
}

# The release of a module directory: DIR itself, or DIR/lib/modules/<release>.
# Prints the directory that holds modules.dep's siblings (kernel/, modules.*).
module_tree()
{
	local dir=$1 found

	if [ -e "$dir/modules.builtin" ] || [ -d "$dir/kernel" ]; then
		(cd "$dir" && pwd)
		return
	fi
	found=$(find "$dir/lib/modules" -mindepth 1 -maxdepth 1 -type d 2>/dev/null || true)
	if [ -z "$found" ]; then
		found=$(find "$dir" -mindepth 2 -maxdepth 2 -name modules.builtin \
			-printf '%h\n' 2>/dev/null || true)
	fi
	[ "$(printf '%s' "$found" | grep -c .)" = 1 ] ||
		die "$EX_USAGE" "'$dir' does not hold exactly one module tree (lib/modules/<release>, or that directory itself)"
	printf '%s\n' "$found"
}
