# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# Streams of reads, which find their next range under way, and all others, which
# cause no I/O beyond what they ask for. $FS is on /t, on a disk that takes 3 ms, and
# on /e, on a mapping named "bad" of a fast one.

FILE=/t/file SEED=71 BAD=/e/file

setup()
{
	slow_null 9 3000000
	mount_fs "$FS" 9 /t
	mread mkfile $FILE "$(scaled 96M 48M)" --seed $SEED
	dm_disk bad /dev/mars-disk0
	mount_dm "$FS" bad /e
	mread mkfile $BAD 32M --seed 72
	mount -o remount,ro /e
	mars_load
	for where in /t /e; do
		mars_attach $where
		mars_on $where
	done
}

# knob VALUE: how far reads look ahead.
knob()
{
	native || put "$(entry /t)/lookahead_bytes" "$1" 0
}

# ahead CASE [OPTION...]
ahead()
{
	ahead_case=$1
	shift
	mread ahead $FILE --case "$ahead_case" --disk "$(disk_number 9)" --seed $SEED "$@"
}

t_stream()
{
	for chunk in 4M 1M 16M 3000001; do
		echo "chunk $chunk"
		ahead stream --chunk $chunk
	done
	for early in off any ordered; do
		native || put "$(entry /t)/early_copy" $early 0
		echo "early_copy=$early"
		ahead stream
	done
}

t_random()
{
	native && skip "natively the beginning of a file passes for a stream"
	ahead random
	ahead random --chunk 8M
}

t_advice()
{
	ahead alone --random
	ahead first
}

t_off()
{
	native && skip "no knobs without MARS"
	knob 0
	trap 'knob auto' EXIT
	ahead alone
	ahead alone --chunk 16M
}

t_bound()
{
	native && skip "no knobs without MARS"
	trap 'knob auto; put "$(entry /t)/window_bytes" 64M 0' EXIT
	for most in 64K 1M 3M 16M; do
		echo "lookahead_bytes $most"
		knob $most
		ahead bound --most $most
	done
	knob auto
	put "$(entry /t)/window_bytes" 8M 0
	ahead bound --most 8M
	knob 1G
	ahead bound --most 8M
}

# What a return value would not show: that the counters agree with each other.
t_counters()
{
	native && skip "no counters without MARS"
	e=$(entry /t)
	submitted=$(cat "$e/stats/bytes_submitted") missed=$(cat "$e/stats/bytes_missed")
	brought=$(cat "$e/stats/bytes_ahead")
	ahead stream
	brought=$(($(cat "$e/stats/bytes_ahead") - brought))
	submitted=$(($(cat "$e/stats/bytes_submitted") - submitted))
	missed=$(($(cat "$e/stats/bytes_missed") - missed))
	[ $((brought + missed)) = "$submitted" ] ||
		fail "$submitted bytes submitted, $brought ahead, $missed missed"
	[ "$brought" -gt "$missed" ] || fail "$brought bytes ahead, $missed missed"
}

t_mixed()
{
	ahead mixed
	ahead mixed --chunk 1M
	ahead handover
}

# The mount is switched off, and on again, in the middle of a stream.
t_disabled() { ahead handover --off; }

t_shared()
{
	ahead shared
	ahead shared --chunk 1M
}

# changes COMMAND OPTION...: a race in which something was looked ahead.
changes()
{
	race=$1
	shift
	native || brought=$(mars_stat /t bytes_ahead)
	mread "$race" /t/race --stream --seconds "$(scaled "$RACE_SECONDS" $((RACE_SECONDS * 4)))" "$@"
	native || [ "$(mars_stat /t bytes_ahead)" -gt "$brought" ] || fail "nothing was brought in ahead"
	rm -f /t/race
}

t_truncate()
{
	changes truncrace --size 48M --low 0 --len 2M
	changes truncrace --size 64M --low 16M --len 4M --readers 1
}

t_append() { changes appendrace --size 24M --len 1M; }
t_punch() { changes punchrace --size 48M --len 2M; }

# Where the file does not fit, and neither does much of a lookahead, nothing is read
# twice for having gone before it was asked for; not much, that is.
t_memcg()
{
	cg=/sys/fs/cgroup/mars-ahead
	[ -e /sys/fs/cgroup/cgroup.controllers ] || fail "no cgroup2 in this guest"
	echo +memory >/sys/fs/cgroup/cgroup.subtree_control
	mkdir -p $cg
	for limit in max:32M high:24M; do
		echo "memory.$limit"
		echo max >$cg/memory.max
		echo max >$cg/memory.high
		echo "${limit#*:}" >"$cg/memory.${limit%:*}"
		sh -c "echo \$\$ >$cg/cgroup.procs && exec mread ahead $FILE --case stream --seed $SEED \
			--disk $(disk_number 9) --chunk 2M --extra 16M" || fail "with memory.$limit"
	done
	! grep -q '^oom_kill [1-9]' $cg/memory.events || fail "$(cat $cg/memory.events)"
	grep -q '^pgsteal [1-9]' $cg/memory.stat || fail "nothing was reclaimed"
	rmdir $cg
}

# make_bad: 4 KiB in the middle of /e's file cannot be read.
make_bad()
{
	bad_sector=$(mread physical $BAD 14M) bad_size=$(blockdev --getsz /dev/mars-disk0)
	trap 'dm_go bad' EXIT
	dm_table bad "0 $bad_sector linear /dev/mars-disk0 0
$bad_sector 8 error
$((bad_sector + 8)) $((bad_size - bad_sector - 8)) linear /dev/mars-disk0 $((bad_sector + 8))"
}

# A lookahead that fails is nothing to the reads before it, and an error or a short
# count to no read after the disk is well again.
t_failed()
{
	disk=$(mountpoint -d /e)
	make_bad
	mread ahead $BAD --case failed --disk "$disk" --seed 72 --bad 14M
	mread ahead $BAD --case failed --disk "$disk" --seed 72 --bad 14M \
		--command ". /mars/test/lib.sh; dm_go bad"
	mread fpos $BAD --seed 72 --chunk 4M
}

# The file system, and the module, are taken away while a lookahead is under way.
t_umount()
{
	for i in 1 2 3 4; do
		ahead leave
		[ $((i % 2)) = 0 ] || mars_off /t
		umount /t || fail "umount number $i, right after a stream, failed"
		mount -t "$FS" /dev/mars-disk9 /t
		mars_attach /t
		mars_on /t
	done
}

t_rmmod()
{
	native && skip "nothing to unload without MARS"
	for i in 1 2 3 4; do
		ahead leave
		rmmod mars || fail "rmmod number $i, right after a stream, failed"
		MREAD_NATIVE=1 mread bigread $FILE --seed $SEED --len 48M
		mars_load
		mars_attach /t
		mars_on /t
	done
}

t_unload()
{
	umount /t
	umount /e
	mars_unload
}

t setup 60 setup
t stream 120 t_stream
t random 60 t_random
t advice 60 t_advice
t off 60 t_off
t bound 120 t_bound
t counters 60 t_counters
t mixed 120 t_mixed
t disabled 60 t_disabled
t shared 60 t_shared
t truncate 120 t_truncate
t append 90 t_append
t punch 90 t_punch
t memcg 120 t_memcg
t failed 60 t_failed
t umount 90 t_umount
t rmmod 120 t_rmmod
t unload 60 t_unload
