# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# The hook beside others who want filemap_read, and what can be watched.

TRACE=/sys/kernel/tracing

setup()
{
	dm_disk slow /dev/mars-disk0
	mount_dm xfs slow /x
	mread mkfile /x/file 64M --seed 51
	mars_load
	mars_attach /x
}

hook_is()
{
	[ "$(cat "$SYS/hook")" = "$1" ] || fail "the hook is '$(cat "$SYS/hook")', expected $1"
}

reads_rise_by()
{
	reads=$(mars_stat /x reads)
	mread bigread /x/file --seed 51 --len 32M
	[ "$(mars_stat /x reads)" = $((reads + $1)) ] ||
		fail "reads rose by $(($(mars_stat /x reads) - reads)), expected $1"
}

# A plain kprobe shares the function: it fires, and MARS still reads.
t_kprobe_shares()
{
	[ -e "$TRACE/kprobe_events" ] || skip "this kernel has no kprobe events"
	trap '{ echo 0 >"$TRACE/events/marstest/enable" && echo >"$TRACE/kprobe_events"; } 2>/dev/null || true' EXIT
	echo 'p:marstest/entry filemap_read' >"$TRACE/kprobe_events"
	echo 1 >"$TRACE/events/marstest/enable"
	echo >"$TRACE/trace"
	mars_on /x
	hook_is armed
	reads_rise_by 1
	echo 0 >"$TRACE/events/marstest/enable"
	grep -q 'entry:.*filemap_read' "$TRACE/trace" || fail "the kprobe did not fire"
	echo >"$TRACE/kprobe_events"
	mars_off /x
	# The other order, and taken away while armed.
	mars_on /x
	echo 'p:marstest/entry filemap_read' >"$TRACE/kprobe_events"
	echo 1 >"$TRACE/events/marstest/enable"
	reads_rise_by 1
	echo 0 >"$TRACE/events/marstest/enable"
	echo >"$TRACE/kprobe_events"
	reads_rise_by 1
	mars_off /x
}

# The tracers of the kernel on the same function.
t_tracers_share()
{
	mars_on /x
	echo filemap_read >"$TRACE/set_ftrace_filter"
	for tracer in function function_graph; do
		grep -qw $tracer "$TRACE/available_tracers" || continue
		echo $tracer >"$TRACE/current_tracer"
		reads_rise_by 1
		grep -q filemap_read "$TRACE/trace" || fail "$tracer saw no filemap_read"
		echo nop >"$TRACE/current_tracer"
	done
	echo >"$TRACE/set_ftrace_filter"
	reads_rise_by 1
	mars_off /x
}

# A kprobe with a post handler owns the function: EBUSY, a message, no change.
t_kprobe_owns()
{
	[ -e /mars/test/kmod/mars_test_kprobe.ko ] || skip "this kernel has no kprobes on ftrace"
	trap 'rmmod mars_test_kprobe 2>/dev/null || true' EXIT
	insmod /mars/test/kmod/mars_test_kprobe.ko
	log_mark
	put "$(entry /x)/enabled" 1 EBUSY
	expect_log "mars.*cannot hook filemap_read"
	[ "$(cat "$(entry /x)/enabled")" = 0 ] || fail "a refused enable changed 'enabled'"
	hook_is busy
	reads_rise_by 0
	rmmod mars_test_kprobe
	mars_on /x
	hook_is armed
	reads_rise_by 1
	# Armed, MARS is the owner. Whether the kernel refuses the kprobe then, or
	# (7.x) takes it by other means, MARS goes on reading. (6.6 warns of each kprobe
	# that ftrace refuses, whoever the owner is, and here a warning is a panic.)
	case $(uname -r) in
	6.6.*) mars_off /x; return ;;
	esac
	insmod /mars/test/kmod/mars_test_kprobe.ko && echo "the kprobe was taken too" ||
		echo "the kprobe was refused"
	hook_is armed
	reads_rise_by 1
	rmmod mars_test_kprobe 2>/dev/null || true
	reads_rise_by 1
	mars_off /x
}

# A live patch is let by, whatever MARS loses by it.
t_livepatch()
{
	[ -e /mars/test/kmod/mars_test_livepatch.ko ] || skip "this kernel has no live patching"
	mars_on /x
	reads_rise_by 1
	log_mark
	insmod /mars/test/kmod/mars_test_livepatch.ko || fail "MARS kept a live patch from loading"
	expect_log "mars.*live patch"
	hook_is yielded
	reads_rise_by 0
	# While it is there, enabling is refused and says why.
	log_mark
	put "$SYS/enabled" 0 0
	put "$SYS/enabled" 1 EBUSY
	expect_log "mars.*cannot hook filemap_read"
	reads_rise_by 0
	echo 0 >/sys/kernel/livepatch/mars_test_livepatch/enabled
	wait_for 60 gone /sys/kernel/livepatch/mars_test_livepatch
	rmmod mars_test_livepatch
	put "$SYS/enabled" 0 0
	put "$SYS/enabled" 1 0
	hook_is armed
	reads_rise_by 1
	mars_off /x
}

# ftrace switched off beforehand: refused with a message, and fine afterwards.
# Kernels from 6.18 on or so do not let anybody switch it off.
t_ftrace_off()
{
	sysctl=/proc/sys/kernel/ftrace_enabled
	[ -e $sysctl ] || skip "this kernel has no ftrace_enabled"
	put "$SYS/detach" /x 0
	rc=0
	mread put $sysctl 0 || rc=$?
	if [ "$rc" = "$(errno EOPNOTSUPP)" ]; then
		put "$SYS/attach" /x 0
		skip "this kernel does not let anybody switch ftrace off"
	fi
	[ "$rc" = 0 ] || fail "ftrace_enabled=0: errno $rc"
	trap 'mread put "$sysctl" 1 || true' EXIT
	log_mark
	put "$SYS/attach" /x EBUSY
	expect_log "mars.*ftrace"
	[ -z "$(ls "$SYS/mounts")" ] || fail "a refused attach left $(ls "$SYS/mounts")"
	put $sysctl 1 0
	put "$SYS/attach" /x 0
	mars_on /x
	hook_is armed
	# And not taken away by the same switch while it is in use.
	put $sysctl 0 EBUSY
	reads_rise_by 1
	mars_off /x
}

# Nothing enabled: nobody has touched filemap_read.
t_idle_costs_nothing()
{
	list="$TRACE/enabled_functions"
	[ -e $list ] || skip "this kernel does not list enabled functions"
	mars_off /x
	! grep -q '^filemap_read ' $list || fail "disarmed, but: $(grep '^filemap_read ' $list)"
	mars_on /x
	grep -q '^filemap_read ' $list || fail "armed, but filemap_read is not in $list"
	mars_off /x
	! grep -q '^filemap_read ' $list || fail "disarmed, but: $(grep '^filemap_read ' $list)"
}

# Every stage reports, all under the id of the one read. The disk is held back
# until the reader waits for it: one that answers at once is never waited for.
t_trace()
{
	mars_on /x
	mread drop /x/file
	echo 8192 >"$TRACE/buffer_size_kb"
	echo >"$TRACE/trace"
	echo 1 >"$TRACE/events/mars/enable"
	trap 'dm_go slow || true' EXIT
	dm_stop slow
	mread bigread /x/file --seed 51 --len 32M &
	reader=$!
	wait_for 30 asleep "$reader"
	dm_go slow
	wait "$reader"
	echo 0 >"$TRACE/events/mars/enable"
	mars_off /x
	sed -n 's/^.*: \(mars_[a-z_]*\): /\1 /p' "$TRACE/trace" | tr ',' ' ' >/tmp/events
	cut -d ' ' -f 1 /tmp/events | sort | uniq -c
	[ "$(grep -c '^mars_read_start ' /tmp/events)" = 1 ] || fail "not one mars_read_start: $(head -n 3 /tmp/events)"
	id=$(sed -n 's/^mars_read_start .*id=\([^ ]*\).*/\1/p' /tmp/events)
	[ -n "$id" ] || fail "mars_read_start prints no id=: $(head -n 1 /tmp/events)"
	! grep -v "id=$id\>" /tmp/events || fail "the above are not of read $id"
	for event in classify allocate insert submit wait copy; do
		grep -q "^mars_$event " /tmp/events || fail "no mars_$event event for read $id"
	done
	head -n 1 /tmp/events | grep -q '^mars_read_start .*count=33554432' || fail "the first event is: $(head -n 1 /tmp/events)"
	tail -n 1 /tmp/events | grep -q '^mars_read_end .*ret=33554432' || fail "the last event is: $(tail -n 1 /tmp/events)"
	copied=$(sed -n 's/^mars_copy .*bytes=\([0-9]*\).*/\1/p' /tmp/events | awk '{ n += $1 } END { print n + 0 }')
	[ "$copied" = 33554432 ] || fail "mars_copy events add up to $copied bytes of 33554432"
	pages=$(sed -n 's/^mars_submit .*nr=\([0-9]*\).*/\1/p' /tmp/events | awk '{ n += $1 } END { print n + 0 }')
	[ "$pages" = 8192 ] || fail "mars_submit events add up to $pages pages of 8192"
	# Warm, nothing is submitted.
	echo >"$TRACE/trace"
	echo 1 >"$TRACE/events/mars/enable"
	mars_on /x
	mread bigread /x/file --seed 51 --len 32M
	echo 0 >"$TRACE/events/mars/enable"
	mars_off /x
	! grep -q 'mars_submit:' "$TRACE/trace" || fail "a warm read submitted something"
	grep -q 'mars_copy:' "$TRACE/trace" || fail "a warm read has no mars_copy event"
}

# The bpftrace script shows where the time of reads went.
t_bpftrace()
{
	command -v bpftrace >/dev/null || skip "no bpftrace for this kernel"
	[ -e /sys/kernel/btf/vmlinux ] || skip "this kernel has no BTF, which tells bpftrace the kernel's types"
	bpftrace --info 2>&1 | grep -q 'tracepoint: yes' || skip "bpftrace cannot work on this kernel: $(bpftrace --info 2>&1 | grep -m1 tracepoint)"
	mars_on /x
	cat >/tmp/three <<-'SCRIPT'
		for _ in 1 2 3; do
			mread drop /x/file
			mread bigread /x/file --seed 51 --len 32M || exit 1
		done
	SCRIPT
	bpftrace -o /tmp/bt.log -c "/bin/sh /tmp/three" /mars/test/stages.bt
	mars_off /x
	cat /tmp/bt.log
	for stage in classify allocate insert submit copy; do
		grep -q "^$stage  *[1-9][0-9]*  *[1-9]" /tmp/bt.log || fail "stages.bt shows nothing of $stage"
	done
	grep -q '^wait ' /tmp/bt.log || fail "stages.bt has no line for wait"
	grep -q '^reads: 3 ' /tmp/bt.log || fail "stages.bt does not show three reads"
}

t_unload()
{
	mars_unload
	[ ! -e "$TRACE/events/mars" ] || fail "trace events are left after rmmod"
	umount /x
}

t setup 60 setup
t kprobe-shares 60 t_kprobe_shares
t tracers-share 90 t_tracers_share
t kprobe-owns 60 t_kprobe_owns
t livepatch 150 t_livepatch
t ftrace-off 60 t_ftrace_off
t idle 60 t_idle_costs_nothing
t trace 60 t_trace
t bpftrace 180 t_bpftrace
t unload 60 t_unload
