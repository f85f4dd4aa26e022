# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# Large reads where memory is short, natively and through MARS in turn: in small memory
# cgroups, in a machine full of clean or of dirty pages, where no large block is free,
# and (on kernels that can be told to) where allocations fail; and what the kernel says
# of a wait: delay accounting and memory pressure. $FS is on /t, and ext4 on
# /o, where nothing is accelerated.

GROUP=/sys/fs/cgroup/mars-memory HUGE=/proc/sys/vm/nr_hugepages
LEN=$(scaled 128M 32M) SEED=91

setup()
{
	dm_disk memory /dev/mars-disk0
	mount_dm "$FS" memory /t
	mount_fs ext4 1 /o
	mread mkfile /t/file "$(scaled 512M 128M)" --seed $SEED
	mread mkfile /t/hot 48M --seed $SEED
	mread mkfile /o/file "$(scaled 512M 128M)" --seed $SEED
	echo +memory >/sys/fs/cgroup/cgroup.subtree_control
	mars_load
	mars_attach /t
	mars_on /t
}

no_kill()
{
	! dmesg | grep -E 'Out of memory|oom-kill|invoked oom-killer' || fail "somebody was killed for want of memory"
}

straits()
{
	mread straits /t/file --len "$LEN" --seed $SEED "$@"
	no_kill
}

# in_group LIMIT SIZE: reads in a cgroup that may have no more than that, into a buffer
# that is not charged to it.
in_group()
{
	mkdir $GROUP
	trap 'rmdir $GROUP || true' EXIT
	echo "$2" >"$GROUP/memory.$1"
	straits --group $GROUP
	grep -E '^(max|high|oom_kill) ' $GROUP/memory.events | xargs
	! grep -q '^oom_kill [1-9]' $GROUP/memory.events || fail "$(cat $GROUP/memory.events)"
	grep -q '^pgsteal [1-9]' $GROUP/memory.stat || fail "the limit was never met"
	trap - EXIT
	wait_for 10 rmdir $GROUP
}

t_max_64() { in_group max "$(scaled 64M 24M)"; }
t_max_16() { in_group max "$(scaled 16M 12M)"; }

# Somebody else in the group, whose pages are reclaimed for the reads and the reverse.
t_high_32()
{
	mkdir $GROUP
	scaled 32M 16M >$GROUP/memory.high
	sh -c "echo \$\$ >$GROUP/cgroup.procs; while :; do cat /o/file >/dev/null; done" &
	beside=$!
	# shellcheck disable=SC2064  # as it is now
	trap "kill $beside; sleep 1; rmdir $GROUP || true" EXIT
	straits --group $GROUP --count 3
	kill -0 $beside || fail "the reader beside it is gone"
	grep -q '^high [1-9]' $GROUP/memory.events || fail "the limit was never met"
	kill $beside
	trap - EXIT
	wait_for 10 rmdir $GROUP
}

# leave KIB: the machine has no more than that, as long as the test runs. Huge pages need
# not be cleared.
leave()
{
	trap 'mread put $HUGE 0' EXIT
	echo 3 >/proc/sys/vm/drop_caches
	awk -v leave="$1" '/^MemFree/ { print int(($2 - leave) / 2048) }' /proc/meminfo >$HUGE
	grep -E 'MemFree|MemAvailable' /proc/meminfo | xargs
}

# mread makes its own file cold, and no other.
t_clean()
{
	leave "$(scaled 480000 300000)"
	cat /o/file /o/file >/dev/null
	reclaims straits
}

dirty_kib() { awk '/^Dirty/ { print $2 }' /proc/meminfo; }

is_dirty() { [ "$(dirty_kib)" -gt "$1" ]; }

dirty_on()
{
	while :; do
		dd if=/dev/zero of=/o/dirty bs=1M count="$1" conv=notrunc 2>/dev/null
	done
}

# What is dirty has to be written before its memory is of use, and more of it comes all
# the time.
t_dirty()
{
	leave "$(scaled 480000 300000)"
	size=$(scaled 200 60)
	for knob in dirty_background_ratio dirty_ratio; do
		old=$(cat /proc/sys/vm/$knob)
		eval "$knob=$old"
		echo 90 >/proc/sys/vm/$knob
	done
	dirty_on "$size" &
	writer=$!
	# shellcheck disable=SC2064,SC2154  # as it is now; eval sets them
	trap "kill $writer; mread put $HUGE 0
		echo $dirty_ratio >/proc/sys/vm/dirty_ratio
		echo $dirty_background_ratio >/proc/sys/vm/dirty_background_ratio
		rm -f /o/dirty" EXIT
	wait_for 20 is_dirty $((size * 512))
	echo "$(dirty_kib) KiB dirty"
	straits
	kill -0 $writer || fail "the writer is gone"
}

# KiB that are free in blocks of eight pages and more.
large_free()
{
	awk '{ for (i = 8, size = 32; i <= NF; i++, size *= 2) kib += $i * size } END { print kib + 0 }' \
		/proc/buddyinfo
}

t_fragmented()
{
	echo 3 >/proc/sys/vm/drop_caches
	before=$(large_free)
	insmod /mars/test/kmod/mars_test_fragment.ko
	trap 'rmmod mars_test_fragment' EXIT
	after=$(large_free)
	echo "free in large blocks: $before KiB, then $after KiB"
	[ "$after" -lt $((before / 50)) ] || fail "large blocks are left"
	straits
}

# failing KIND PERCENT OPTION=VALUE...: a part of the allocations that a read makes fail.
failing()
{
	kind=$1 percent=$2
	dir=/sys/kernel/debug/$kind
	[ -e "$dir" ] || skip "this kernel has no $kind"
	shift 2
	trap 'echo 0 >$dir/probability' EXIT
	for option in task-filter=Y verbose=0 times=-1 "$@"; do
		echo "${option#*=}" >"$dir/${option%%=*}"
	done
	echo "$percent" >"$dir/probability"
}

# Those that may sleep succeed, so nobody has an excuse.
t_no_wait_pages()
{
	for percent in 1 10 50; do
		failing fail_page_alloc $percent ignore-gfp-wait=Y min-order=0
		echo 1 >/proc/self/make-it-fail
		straits --count 3
		echo 0 >/proc/self/make-it-fail
	done
}

t_pages()
{
	for percent in 1 10 50; do
		failing fail_page_alloc $percent ignore-gfp-wait=N min-order=0
		straits --count 3 --failing
	done
}

t_slab()
{
	for percent in 1 10 50; do
		failing failslab $percent ignore-gfp-wait=N cache-filter=N
		straits --count 3 --failing
	done
}

# stall OPTION…: the disk is stopped in the middle of a read, so it is known for how long
# the reader waits.
stall()
{
	lists n
	# shellcheck disable=SC2064,SC2154  # as it is now; lists sets it
	trap "$lists_back; echo 0 >/proc/sys/kernel/task_delayacct" EXIT
	echo 1 >/proc/sys/kernel/task_delayacct
	mkdir -p $GROUP
	echo +memory >$GROUP/cgroup.subtree_control
	mread stall /t/file --hot /t/hot --group $GROUP --seed $SEED \
		--stop ". /mars/test/lib.sh; dm_stop memory" --go ". /mars/test/lib.sh; dm_go memory" "$@"
	wait_for 10 rmdir $GROUP
}

t_stall() { stall; }
# Reclaim takes and counts folios whole, and natively these come as single pages.
t_thrash()
{
	native || put "$(entry /t)/max_folio_bytes" 4K 0
	stall --thrash
	native || put "$(entry /t)/max_folio_bytes" 2M 0
}

# Nothing that was short has left anything behind.
t_afterwards()
{
	mars_on /t
	mread rdcheck /t/file --seed $SEED --res cold --min 8M --max "$(scaled 64M 16M)" --count 6 --rng 5
	[ "$(cat "$SYS/memory_used")" = 0 ] || fail "memory_used is $(cat "$SYS/memory_used")"
}

t_unload()
{
	umount /t /o
	dmsetup remove memory
	mars_unload
}

t setup 120 setup
t max-64 120 t_max_64
t max-16 180 t_max_16
t high-32 240 t_high_32
t clean 120 t_clean
t dirty 180 t_dirty
t fragmented 180 t_fragmented
t no-wait-pages 120 t_no_wait_pages
t pages 120 t_pages
t slab 120 t_slab
t stall 120 t_stall
t thrash 120 t_thrash
t afterwards 60 t_afterwards
t unload 60 t_unload
