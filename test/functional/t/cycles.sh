# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# The module comes and goes under four reading processes, two on XFS and two
# on ext4. Most of the time passes in the grace periods of unloading. The shell
# writes to sysfs itself, for speed; a write that fails ends the test.

setup()
{
	mount_fs xfs 0 /x
	mount_fs ext4 1 /e
	mread mkfile /x/file 64M --seed 31
	mread mkfile /e/file 64M --seed 32
}

start_readers()
{
	rm -f /tmp/stop
	pids=
	for n in 1 2; do
		mread loopread /x/file --seed 31 --rng $n --stop /tmp/stop --max 8M --pause 60 >/tmp/r.x$n 2>&1 &
		pids="$pids $!"
		mread loopread /e/file --seed 32 --rng $n --stop /tmp/stop --max 8M --pause 60 >/tmp/r.e$n 2>&1 &
		pids="$pids $!"
	done
	x=$(entry /x)
	e=$(entry /e)
}

readers_alive()
{
	for pid in $pids; do
		! exited "$pid" || fail "a reader ended early: $(cat /tmp/r.*)"
	done
}

stop_readers()
{
	touch /tmp/stop
	for pid in $pids; do
		wait "$pid" || fail "a reader: $(cat /tmp/r.*)"
	done
	cat /tmp/r.*
}

attach_both()
{
	echo /x >"$SYS/attach"
	echo /e >"$SYS/attach"
}

enable_both()
{
	echo 1 >"$x/enabled"
	echo 1 >"$e/enabled"
}

# add_reads: what the counters say, added to $reads.
add_reads()
{
	read -r of_x <"$x/stats/reads"
	read -r of_e <"$e/stats/reads"
	reads=$((reads + of_x + of_e))
}

one_cycle()
{
	busybox insmod /mars/mars.ko
	attach_both
	enable_both
	[ $((cycle % 4)) != 0 ] || sleep "$(scaled 0.2 5)"
	add_reads
	case $((cycle % 3)) in
	0) echo 0 >"$SYS/enabled" ;;
	1) echo 0 >"$x/enabled" ;;
	esac
	busybox rmmod mars
	gone "$SYS" || fail "cycle $cycle: $SYS is still there after rmmod"
}

# Two seconds each, spent waiting for grace periods: 200 of them with --long.
t_cycles()
{
	native && skip "nothing to load without MARS"
	if [ -n "${MREAD_LONG-}" ]; then cycles=200; else cycles=30; fi
	start_readers
	reads=0
	for cycle in $(seq "${CYCLES:-$cycles}"); do
		one_cycle
		readers_alive
		[ $((cycle % 20)) != 0 ] || echo "$cycle cycles, $reads reads, $(uptime_cs)"
	done
	stop_readers
	echo "$reads reads through MARS in $cycle cycles"
	[ $reads -ge "$(scaled "$cycle" 4)" ] || fail "MARS did only $reads reads in $cycle cycles"
}

# The switches alone, fast: arm and disarm the hook under the same readers.
t_toggle()
{
	native && skip "nothing to switch without MARS"
	mars_load
	start_readers
	attach_both
	for cycle in $(seq 15); do
		enable_both
		sleep 0.2
		echo 0 >"$SYS/enabled"
		echo 1 >"$SYS/enabled"
		echo 0 >"$x/enabled"
		echo 0 >"$e/enabled"
		readers_alive
	done
	stop_readers
	[ "$(cat "$SYS/hook")" = disarmed ] || fail "the hook is '$(cat "$SYS/hook")' with nothing enabled"
	[ "$(mars_stat /x reads)" -gt 0 ] || fail "MARS did no read on /x"
	[ "$(mars_stat /e reads)" -gt 0 ] || fail "MARS did no read on /e"
	mars_unload
}

t setup 60 setup
t cycles 500 t_cycles
t toggle 120 t_toggle
