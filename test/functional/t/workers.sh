# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# Reads whose copies are shared with workers on other CPUs: the right bytes, and
# nothing left behind, whatever happens to the reader, its buffer, the worker's
# CPU, the mount and the module meanwhile. One file system, $FS, on a mapping
# named "slow".

FILE=/t/file

setup()
{
	[ "$(nproc)" -ge 2 ] || fail "this guest has $(nproc) CPU, the workers need two"
	dm_disk slow /dev/mars-disk0
	mount_dm "$FS" slow /t
	mread mkfile "$FILE" "$(scaled 160M 80M)" --seed 51
	mars_load
	mars_attach /t
	mars_on /t
}

executors()
{
	native || put "$(entry /t)/copy_executors" "$1" 0
}

warm()
{
	cat "$FILE" >/dev/null
}

# Something was copied by a worker since $shared_before, or the test shows nothing.
note_shared()
{
	shared_before=$(mars_stat /t bytes_parallel)
}

was_shared()
{
	[ "$(mars_stat /t bytes_parallel)" -gt "$shared_before" ]
}

# A host that is busy with other things may keep the second CPU from us: go on
# until a worker did something.
share_once()
{
	mread rdcheck "$FILE" --seed 51 --res warm --min 16M --max 64M --count 2 --rng "$(uptime_cs)"
	was_shared
}

t_bytes()
{
	native && skip "no workers without MARS"
	large=$(scaled 96M 24M) count=$(scaled 4 2)
	for n in 0 1 2 3 auto; do
		executors "$n"
		note_shared
		echo "copy_executors=$n"
		for res in warm prefix suffix scatter; do
			mread rdcheck "$FILE" --seed 51 --res $res --min 1M --max "$large" --count "$count" --rng 52
		done
		mread rdcheck "$FILE" --seed 51 --res warm --how readv --min 1M --max "$large" --count "$count" --rng 53
		mread rdcheck "$FILE" --seed 51 --res warm --near-eof --min 1M --max "$large" --count "$count" --rng 54
		case $n in
		0 | 1) ! was_shared || fail "copy_executors=$n, and a worker copied" ;;
		*) wait_for 60 share_once ;;
		esac
	done
	for early in off any ordered; do
		put "$(entry /t)/early_copy" "$early" 0
		mread rdcheck "$FILE" --seed 51 --min 1M --max "$large" --count "$count" --rng 55
	done
}

# Side effects and refusals are the native ones.
t_native()
{
	executors 2
	warm
	mread badbuf "$FILE" --seed 51
	mread selfmap "$FILE" --seed 51
}

t_readers()
{
	executors 2
	rm -f /tmp/stop
	for i in 1 2 3 4; do
		mread loopread "$FILE" --seed 51 --stop /tmp/stop --max 48M --rng "$i" >"/tmp/reader.$i" 2>&1 &
		eval "pid$i=$!"
	done
	sleep 8
	touch /tmp/stop
	for i in 1 2 3 4; do
		eval "wait \$pid$i" || fail "reader $i: $(cat "/tmp/reader.$i")"
	done
	native || [ "$(cat "$SYS"/workers/calls)" -gt 0 ] || fail "no worker was ever called"
}

# Somebody changes the file.
t_file_changes()
{
	executors 2
	mread truncrace /t/race --size 48M --low 0 --seconds 6
	mread truncrace /t/race --size 64M --low 16M --len 48M --readers 1 --seconds 6
	mread appendrace /t/race --size 24M --seconds 4
	mread punchrace /t/race --size 48M --seconds 4
	rm /t/race
}

# The sector under 40 MiB fails: prefix, EIO, and nothing written behind it.
t_ioerror()
{
	executors 2
	bad=40M
	trap 'dm_go slow || true' EXIT
	dm_bad slow "$(mread physical "$FILE" $bad)"
	mread ioerror "$FILE" --bad $bad --seed 51 --granule "${GRANULE:-2M}"
	dm_go slow
	mread fpos "$FILE" --seed 51 --chunk 16M
}

# Somebody takes the buffer away.
t_buffer()
{
	executors 2
	warm
	mread bufrace "$FILE" --seed 51 --count "$(scaled 100 20)"
}

t_exec()
{
	executors 2
	warm
	mread execrace "$FILE" --seed 51 --count "$(scaled 20 5)"
}

t_kill()
{
	executors 2
	warm
	mread killrace "$FILE" --seed 51 --count "$(scaled 60 15)"
	mread rdcheck "$FILE" --seed 51 --res warm --min 1M --max 64M --count 4
}

# A worker that copied for a reader that was killed does not keep the mount busy.
t_umount()
{
	for i in 1 2 3 4 5 6 7 8; do
		executors 2
		warm
		mread killrace "$FILE" --seed 51 --count 1
		umount /t || fail "umount number $i, right after a reader was killed, failed"
		mount -t "$FS" /dev/mapper/slow /t
		mars_attach /t
		mars_on /t
	done
	mread rdcheck "$FILE" --seed 51 --min 4M --max 64M --count 2
}

# The worker's CPU goes and comes, with reads under way on the other one.
t_hotplug()
{
	[ -w /sys/devices/system/cpu/cpu1/online ] || skip "this kernel has no CPU hotplug"
	executors 2
	warm
	rm -f /tmp/stop
	mread loopread "$FILE" --seed 51 --stop /tmp/stop --max 64M >/tmp/reader.log 2>&1 &
	reader=$!
	replug_cpu1
	touch /tmp/stop
	wait "$reader" || fail "the reader: $(cat /tmp/reader.log)"
	native && return 0
	note_shared
	wait_for 60 share_once
}

# While nothing is enabled, or one executor is asked for, no worker wakes up.
t_idle()
{
	native && skip "no workers without MARS"
	warm
	workers=$(thread_switches mars_copy)
	[ "$(echo "$workers" | wc -l)" = "$(nproc)" ] || fail "there are other workers than one a CPU: $workers"
	mars_off /t
	MREAD_NATIVE=1 mread bigread "$FILE" --seed 51 --len 64M
	mars_on /t
	executors 1
	mread bigread "$FILE" --seed 51 --len 64M
	[ "$(thread_switches mars_copy)" = "$workers" ] ||
		fail "workers were woken for nothing: $workers, then $(thread_switches mars_copy)"
	executors 2
}

# Only the CPUs that the reader may use, and that workers/cpus names.
t_cpus()
{
	native && skip "no workers without MARS"
	executors 2
	warm
	put "$SYS/workers/cpus" 0 0
	workers=$(thread_switches mars_copy/1)
	for i in 1 2 3 4; do
		mread bigread "$FILE" --seed 51 --len 64M
	done
	[ "$(thread_switches mars_copy/1)" = "$workers" ] ||
		fail "a worker was woken on a CPU that workers/cpus does not name"
	put "$SYS/workers/cpus" "0-1" 0
	note_shared
	taskset 1 mread bigread "$FILE" --seed 51 --len 64M
	! was_shared || fail "a worker copied on a CPU that the reader may not use"
	wait_for 60 share_once
}

# With a busy CPU everywhere nobody is called; the reads are right nevertheless.
t_busy()
{
	native && skip "no workers without MARS"
	executors 2
	warm
	hog_cpus
	calls=$(cat "$SYS"/workers/calls)
	mread rdcheck "$FILE" --seed 51 --res warm --min 8M --max 64M --count 4
	calls=$(($(cat "$SYS"/workers/calls) - calls))
	[ "$calls" -le 2 ] || fail "workers of busy CPUs were called $calls times"
}

# Calibration gives figures that a machine can have, and what is written stays.
t_values()
{
	native && skip "no workers without MARS"
	w=$SYS/workers
	put "$w/calibrate" 1 0
	[ "$(cat "$w/copy_bytes_per_second")" -gt 10000000 ] || fail "S is $(cat "$w/copy_bytes_per_second")"
	[ "$(cat "$w/copy_dispatch_ns")" -gt 100 ] || fail "D is $(cat "$w/copy_dispatch_ns")"
	[ "$(cat "$w/copy_cap")" -ge 2 ] || fail "the cap is $(cat "$w/copy_cap")"
	put "$w/copy_bytes_per_second" 1000000000 0
	put "$w/copy_dispatch_ns" 1000 0
	put "$w/gain" 0 0
	# M > D, with M = B a nanosecond.
	[ "$(cat "$w/copy_least_bytes")" = 1001 ] || fail "1 GB/s and 1 us make $(cat "$w/copy_least_bytes") bytes"
	executors auto
	put "$w/copy_cap" 1 0
	note_shared
	mread rdcheck "$FILE" --seed 51 --res warm --min 16M --max 64M --count 2
	! was_shared || fail "copy_cap=1, and a worker copied"
	put "$w/copy_cap" 2 0
	wait_for 60 share_once
	put "$w/gain" 100 0
	put "$w/poll_us" 1000 0
	wait_for 60 share_once
	put "$w/poll_us" 0 0
}

# rmmod in the middle of shared copies.
t_rmmod()
{
	native && skip "nothing to unload without MARS"
	for i in 1 2 3 4 5 6; do
		executors 2
		warm
		rm -f /tmp/stop
		mread loopread "$FILE" --seed 51 --stop /tmp/stop --max 64M --rng "$i" >/tmp/reader.log 2>&1 &
		reader=$!
		sleep 0.$i
		rmmod mars || fail "rmmod number $i failed"
		touch /tmp/stop
		wait "$reader" || fail "the reader: $(cat /tmp/reader.log)"
		[ -z "$(thread_switches mars_copy)" ] || fail "workers are left: $(thread_switches mars_copy)"
		mars_load
		mars_attach /t
		mars_on /t
	done
	executors 2
	note_shared
	wait_for 60 share_once
}

t setup 120 setup
t bytes 240 t_bytes
t native 120 t_native
t readers 90 t_readers
t file-changes 180 t_file_changes
t ioerror 90 t_ioerror
t buffer 120 t_buffer
t exec 120 t_exec
t kill 120 t_kill
t umount 180 t_umount
t hotplug 120 t_hotplug
t idle 60 t_idle
t cpus 120 t_cpus
t busy 120 t_busy
t values 120 t_values
t rmmod 180 t_rmmod
