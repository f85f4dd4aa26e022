# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# The interface: /sys/fs/mars and what attach and detach say to bad input.
# XFS is on /x, ext4 on /e.

KNOBS="min_read_bytes window_bytes batch_bytes depth max_folio_bytes copy_executors submit_executors
	submit_min_bytes lookahead_bytes"

setup()
{
	mount_fs xfs 0 /x
	mount_fs ext4 1 /e
	mread mkfile /x/file 64M --seed 41
	mread mkfile /e/file 64M --seed 42
	before=$(uptime_cs)
	mars_load
	after=$(uptime_cs)
	[ -d "$SYS" ] || fail "no $SYS after insmod"
	[ $((after - before)) -lt $((500 * TIME_FACTOR)) ] || fail "insmod took $((after - before)) hundredths of a second"
}

t_fresh()
{
	version=$(cat "$SYS/version")
	case $version in
	[0-9]*.[0-9]*.[0-9]*) ;;
	*) fail "version is '$version'" ;;
	esac
	[ "$(modinfo -F version /mars/mars.ko)" = "$version" ] ||
		fail "modinfo says version '$(modinfo -F version /mars/mars.ko)', sysfs '$version'"
	[ "$(modinfo -F license /mars/mars.ko)" = "GPL v2" ] || [ "$(modinfo -F license /mars/mars.ko)" = "GPL" ] ||
		fail "the licence is '$(modinfo -F license /mars/mars.ko)'"
	[ "$(cat "$SYS/enabled")" = 1 ] || fail "the global switch does not start at 1"
	[ "$(cat "$SYS/hook")" = disarmed ] || fail "the hook is '$(cat "$SYS/hook")' with nothing attached"
	[ -z "$(ls "$SYS/mounts")" ] || fail "there are mounts: $(ls "$SYS/mounts")"
	[ "$(cat "$SYS/defaults/min_read_bytes")" = 1048576 ] || fail "min_read_bytes does not start at 1 MiB"
	[ "$(cat "$SYS/defaults/window_bytes")" = 67108864 ] || fail "window_bytes does not start at 64 MiB"
	[ "$(cat "$SYS/defaults/batch_bytes")" = 1048576 ] || fail "batch_bytes does not start at 1 MiB"
	[ "$(cat "$SYS/defaults/max_folio_bytes")" = 2097152 ] || fail "max_folio_bytes does not start at 2 MiB"
	[ "$(cat "$SYS/defaults/lookahead_bytes")" = auto ] || fail "lookahead_bytes does not start at auto"
}

# Attached is not enabled; enabled arms; the last one off disarms.
t_arming()
{
	put "$SYS/attach" /x 0
	x=$(entry /x)
	[ "$(cat "$x/enabled")" = 0 ] || fail "a new entry is enabled"
	[ "$(cat "$SYS/hook")" = disarmed ] || fail "armed by attach"
	put "$SYS/attach" /e/file 0
	e=$(entry /e)
	[ "$(cat "$x/fstype") $(cat "$e/fstype")" = "xfs ext4" ] || fail "fstype: $(cat "$x/fstype") $(cat "$e/fstype")"
	[ "$(cat "$x/path") $(cat "$e/path")" = "/x /e" ] || fail "path: $(cat "$x/path") $(cat "$e/path")"
	put "$x/enabled" 1 0
	[ "$(cat "$SYS/hook")" = armed ] || fail "the hook is '$(cat "$SYS/hook")' after enabling"
	put "$e/enabled" 1 0
	put "$x/enabled" 0 0
	[ "$(cat "$SYS/hook")" = armed ] || fail "the hook is '$(cat "$SYS/hook")' with one of two enabled"
	put "$SYS/enabled" 0 0
	[ "$(cat "$SYS/hook")" = disarmed ] || fail "the hook is '$(cat "$SYS/hook")' with the global switch off"
	put "$SYS/enabled" 1 0
	[ "$(cat "$SYS/hook")" = armed ] || fail "the hook is '$(cat "$SYS/hook")' with the global switch on again"
	[ "$(cat "$e/enabled")$(cat "$x/enabled")" = 10 ] || fail "the global switch changed a mount's"
	put "$e/enabled" 0 0
	[ "$(cat "$SYS/hook")" = disarmed ] || fail "the hook is '$(cat "$SYS/hook")' with nothing enabled"
}

# Only the enabled one of two mounts is accelerated.
t_separate()
{
	mars_on /x
	mread bigread /x/file --seed 41 --len 32M
	mread bigread /e/file --seed 42 --len 32M
	[ "$(mars_stat /x reads)" = 1 ] || fail "/x: $(mars_stat /x reads) reads, expected 1"
	[ "$(mars_stat /e reads)" = 0 ] || fail "/e is not enabled and has $(mars_stat /e reads) reads"
	[ "$(mars_stat /x bytes)" = 33554432 ] || fail "/x: bytes is $(mars_stat /x bytes)"
	[ "$(mars_stat /x copy_ns)" -gt 0 ] || fail "/x: copy_ns did not rise"
	mars_off /x
}

# A mount is a super block: a bind mount is the same one.
t_bind()
{
	mkdir -p /b
	mount --bind /x /b
	put "$SYS/attach" /b EEXIST
	mars_on /x
	reads=$(mars_stat /x reads)
	mread bigread /b/file --seed 41 --len 8M
	[ "$(mars_stat /x reads)" = $((reads + 1)) ] || fail "a read through a bind mount was not counted"
	umount /b
	[ -d "$(entry /x)" ] || fail "unmounting a bind mount removed the entry"
	mars_off /x
}

# Every file is documented and every document's file exists.
t_abi()
{
	cat /mars/test/abi/* >/tmp/abi || fail "no ABI documents in the guest"
	sed -n 's/^What:[[:space:]]*//p' /tmp/abi |
		sed 's/[.+*]/\\&/g; s/<[^>]*>/[^\/]+/g; s/$/$/; s/^/^/' >/tmp/patterns
	[ -s /tmp/patterns ] || fail "the ABI documents hold no What: line"
	find "$SYS" -type f -o -type d | sort >/tmp/tree
	grep -v -E -f /tmp/patterns /tmp/tree >/tmp/undocumented || true
	# A directory needs no entry of its own if something below it has one.
	while read -r path; do
		[ ! -d "$path" ] || continue
		fail "$path is in no ABI document"
	done </tmp/undocumented
	while read -r pattern; do
		grep -q -E "$pattern" /tmp/tree || fail "documented, but not there: $pattern"
	done </tmp/patterns
	echo "$(wc -l </tmp/patterns) entries, $(wc -l </tmp/tree) paths"
}

# Modes, and one value a file: everything readable is one line.
t_modes()
{
	find "$SYS" -type f -exec stat -c '%a %n' {} + >/tmp/modes
	awk '
		$2 ~ /\/(attach|detach|calibrate)$/ { want = "200" }
		$2 ~ /\/(version|hook|path|fstype|memory_used|copy_least_bytes|submit_degree|depth_bytes)$/ ||
			$2 ~ /\/workers\/(calls|late|pauses|items|left|run_ns)$/ || $2 ~ /\/stats\// { want = "444" }
		!want { want = "644" }
		$1 != want { print $2 " has mode " $1 ", expected " want; bad = 1 }
		{ want = "" }
		END { exit bad }' /tmp/modes || fail "the above"
	awk '$1 != 200 { print $2 }' /tmp/modes >/tmp/readable
	while read -r file; do
		{ read -r value && ! read -r _; } <"$file" || fail "$file is not one line"
		[ -n "$value" ] || fail "$file is empty"
		case $file:$value in
		*/stats/*:*[!0-9]*) fail "$file says '$value'" ;;
		esac
	done </tmp/readable
	[ "$(wc -l </tmp/readable)" -gt 50 ] || fail "only $(wc -l </tmp/readable) files"
}

t_bad_values()
{
	find "$SYS" -type f -perm -200 ! -name attach ! -name detach >/tmp/writable
	[ "$(wc -l </tmp/writable)" -ge 14 ] || fail "only these are writable: $(cat /tmp/writable)"
	nl='
'
	while read -r file; do
		mread refuse "$file" "$nl" " " junk -1 0x10 1.5 "1 2" " 1" "1K " "1KK" "1KB" K \
			"1${nl}2" "$nl$nl" 1e3 99999999999999999999999 18446744073709551616 \
			18014398509481984K "${nl}1" "--" "$(printf '%04000d' 0)x"
	done </tmp/writable
	for dir in "$SYS/defaults" "$(entry /x)"; do
		mread refuse "$dir/min_read_bytes" 0 4095 1048577K
		mread refuse "$dir/window_bytes" 0 1048575 2G 1048577
		mread refuse "$dir/batch_bytes" 0 63K 65M 100001
		mread refuse "$dir/max_folio_bytes" 0 2K 3M 128M
		mread refuse "$dir/depth" 0 1 aut autofixed FIXED off
		mread refuse "$dir/copy_executors" 33 1K auto1 aut AUTO -1
		mread refuse "$dir/submit_executors" 33 1K auto1 aut AUTO -1
		mread refuse "$dir/submit_min_bytes" 0 4095 2G auto -1
		mread refuse "$dir/lookahead_bytes" 2G 1073741825 auto1 aut AUTO autoK -1
	done
	mread refuse "$SYS/memory_bytes" 0 1048575 1023K 1024G
	mread refuse "$SYS/workers/cpus" 0, a-b 0-1x ,0 0-0-1 99999999
	mread refuse "$SYS/workers/poll_us" 10001 1K +1
	mread refuse "$SYS/workers/alpha" 8001 1K +1
	mread refuse "$SYS/workers/gain" 1001 +1
	mread refuse "$SYS/workers/copy_cap" 33 +1
	mread refuse "$SYS/workers/calibrate" 0 2 on 01
	for switch in "$SYS/enabled" "$(entry /x)/enabled"; do
		mread refuse "$switch" 2 yes on 1K 01x 01 +1 +0
	done
}

# cold_reads COUNT: of the whole file on XFS, whoever else reads it too.
cold_reads()
{
	for _ in $(seq "$1"); do
		mread drop /x/file
		mread bigread /x/file --seed 41
	done
}

# The share of memory is kept: beside a read that has it all, others are native.
t_memory()
{
	x=$(entry /x)
	limit=$(cat "$SYS/memory_bytes")
	total=$(awk '/MemTotal/ { printf "%.0f", $2 * 1024 }' /proc/meminfo)
	case $((limit * 16 / total)) in
	2 | 1) ;;
	*) fail "memory_bytes is $limit at first, of $total" ;;
	esac
	mars_on /x
	put "$SYS/memory_bytes" 1M 0
	was_native=$(mars_stat /x native_memory) was_read=$(mars_stat /x reads)
	pids=''
	for i in 1 2 3 4; do
		cold_reads "$(scaled 3 2)" >"/tmp/memory.$i" 2>&1 &
		pids="$pids $!"
	done
	greatest=0
	for _ in $(seq 40); do
		used=$(cat "$SYS/memory_used")
		[ "$used" -le "$greatest" ] || greatest=$used
	done
	for pid in $pids; do
		wait "$pid" || fail "a reader: $(cat /tmp/memory.*)"
	done
	[ "$greatest" -le 1048576 ] || fail "reads had taken $greatest bytes, the share is 1 MiB"
	[ "$(mars_stat /x reads)" -gt "$was_read" ] || fail "no read was accelerated"
	[ "$(mars_stat /x native_memory)" -gt "$was_native" ] || fail "no read went without a share"
	[ "$(cat "$SYS/memory_used")" = 0 ] || fail "memory_used is $(cat "$SYS/memory_used") after the last read"
	put "$SYS/memory_bytes" "$limit" 0
	mars_off /x
}

# accept FILE TEXT VALUE
accept()
{
	put "$1" "$2" 0
	[ "$(cat "$1")" = "$3" ] || fail "wrote '$2' to $1, it says $(cat "$1"), expected $3"
}

t_good_values()
{
	x=$(entry /x)
	for dir in "$SYS/defaults" "$x"; do
		for knob in $KNOBS; do cat "$dir/$knob"; done >/tmp/saved
		accept "$dir/min_read_bytes" 4K 4096
		accept "$dir/min_read_bytes" 1G 1073741824
		accept "$dir/batch_bytes" 64K 65536
		accept "$dir/window_bytes" 1M 1048576
		accept "$dir/window_bytes" 1048576k 1073741824
		accept "$dir/batch_bytes" 1g 1073741824
		accept "$dir/max_folio_bytes" 4096 4096
		accept "$dir/max_folio_bytes" 64m 67108864
		accept "$dir/batch_bytes" 65536 65536
		accept "$dir/depth" fixed fixed
		accept "$dir/depth" auto auto
		accept "$dir/copy_executors" auto auto
		accept "$dir/copy_executors" 0 0
		accept "$dir/copy_executors" 32 32
		accept "$dir/submit_executors" auto auto
		accept "$dir/submit_executors" 0 0
		accept "$dir/submit_executors" 32 32
		accept "$dir/submit_min_bytes" 4K 4096
		accept "$dir/submit_min_bytes" 1G 1073741824
		accept "$dir/lookahead_bytes" 0 0
		accept "$dir/lookahead_bytes" 3M 3145728
		accept "$dir/lookahead_bytes" 1G 1073741824
		accept "$dir/lookahead_bytes" auto auto
		for knob in $KNOBS; do
			read -r value
			accept "$dir/$knob" "$value" "$value"
		done </tmp/saved
	done
	cpus=$(cat "$SYS/workers/cpus")
	accept "$SYS/workers/cpus" 0,1 0-1
	accept "$SYS/workers/cpus" "$cpus" "$cpus"
	# Defaults are what a new entry starts with, and no more than that.
	accept "$SYS/defaults/window_bytes" 32M 33554432
	[ "$(cat "$x/window_bytes")" = 67108864 ] || fail "a default changed an attached mount"
	put "$SYS/detach" /x 0
	put "$SYS/attach" /x 0
	[ "$(cat "$x/window_bytes")" = 33554432 ] || fail "a new entry has window_bytes $(cat "$x/window_bytes")"
	accept "$SYS/defaults/window_bytes" 64M 67108864
	put "$x/window_bytes" 64M 0
}

# attach and detach of what cannot be: errno, a line in the log, no entry.
t_bad_paths()
{
	find "$SYS/mounts" | sort >/tmp/mounts
	mkdir -p /lower /upper /work /merged /x/up /x/wk
	log_mark
	put "$SYS/attach" /no/such/path ENOENT
	expect_log "mars.*no/such/path"
	put "$SYS/attach" "" 0
	put "$SYS/attach" "
" EINVAL
	put "$SYS/attach" relative/nothing ENOENT
	put "$SYS/detach" /no/such/path ENOENT
	log_mark
	put "$SYS/attach" /tmp EOPNOTSUPP
	expect_log "mars.*/tmp.*tmpfs"
	log_mark
	put "$SYS/attach" /proc/self/status EOPNOTSUPP
	expect_log "mars.*/proc/self/status.*proc"
	put "$SYS/attach" /sys EOPNOTSUPP
	put "$SYS/attach" /dev/null EOPNOTSUPP
	log_mark
	put "$SYS/attach" /x EEXIST
	expect_log "mars.*/x.*attached already"
	log_mark
	put "$SYS/detach" /tmp ENOENT
	expect_log "mars.*/tmp"
	put "$SYS/attach" "$(printf '%05000d' 0 | tr 0 a)" ENAMETOOLONG
	find "$SYS/mounts" | sort | cmp - /tmp/mounts || fail "the list of mounts changed"
}

# An overlay is refused, with the lower mount's name; attaching that one works.
t_overlay()
{
	modprobe overlay 2>/dev/null || grep -q overlay /proc/filesystems ||
		skip "this kernel has no overlay file system"
	mkdir -p /x/lower /x/upper /x/work /merged
	mread mkfile /x/lower/file 8M --seed 43
	mount -t overlay -o lowerdir=/x/lower,upperdir=/x/upper,workdir=/x/work none /merged
	log_mark
	put "$SYS/attach" /merged EOPNOTSUPP
	expect_log "mars.*/merged.*overlay.*lower"
	mars_on /x
	mread bigread /merged/file --seed 43 --len 8M
	mars_off /x
	umount /merged
	rm -r /x/lower
}

t_detach()
{
	e=$(entry /e)
	put "$SYS/detach" /e 0
	gone "$e" || fail "$e is still there after detach"
	put "$SYS/detach" /e ENOENT
	put "$SYS/attach" /e 0
	mars_on /e
	put "$SYS/detach" /e 0
	[ "$(cat "$SYS/hook")" = disarmed ] || fail "the hook is '$(cat "$SYS/hook")' after the detach of the only enabled mount"
	mread bigread /e/file --seed 42 --len 32M
	put "$SYS/attach" /e 0
}

# A sysfs file held open does not keep the entry, the mount or the module.
t_open_file()
{
	e=$(entry /e)
	exec 9<"$e/stats/reads"
	put "$SYS/detach" /e 0
	gone "$e" || fail "an open file kept the entry"
	cat <&9 >/dev/null 2>&1 && fail "reading the counter of a detached mount worked"
	exec 9<&-
	put "$SYS/attach" /e 0
}

# Many writers at once: no deadlock, and a state that makes sense afterwards.
t_storm()
{
	for n in 1 2 3 4; do
		(
			for i in $(seq 6); do
				mread put "$SYS/attach" /e || true
				mread put "$(entry /e)/enabled" $((i % 2)) || true
				mread put "$SYS/enabled" $((n % 2)) || true
				mread put "$SYS/detach" /e || true
				mread put "$SYS/defaults/window_bytes" $((n + 1))M || true
			done 2>/dev/null
		) &
	done
	wait
	put "$SYS/enabled" 1 0
	put "$SYS/defaults/window_bytes" 64M 0
	mread put "$SYS/attach" /e || [ $? = "$(errno EEXIST)" ] || fail "cannot attach after the storm"
	mars_on /e
	[ "$(cat "$SYS/hook")" = armed ] || fail "the hook is '$(cat "$SYS/hook")'"
	reads=$(mars_stat /e reads)
	mread bigread /e/file --seed 42 --len 32M
	[ "$(mars_stat /e reads)" = $((reads + 1)) ] || fail "the read was not counted"
}

# The last test: nothing of MARS is left.
t_unload()
{
	mars_on /x
	mread bigread /x/file --seed 41 --len 32M
	rmmod mars
	[ ! -e "$SYS" ] || fail "$SYS is still there after rmmod"
	! grep -q '^mars ' /proc/modules || fail "the module is still there"
	for comm in /proc/[0-9]*/comm; do
		case $(cat "$comm" 2>/dev/null) in
		mars*) fail "a task is left: $(cat "$comm")" ;;
		esac
	done
	! grep -q 'mars' /sys/kernel/tracing/available_events || fail "trace events are left"
	! grep -q 'filemap_read\|generic_shutdown_super' /sys/kernel/tracing/enabled_functions 2>/dev/null ||
		fail "still hooked: $(cat /sys/kernel/tracing/enabled_functions)"
	mread bigread /x/file --seed 41 --len 32M
	umount /x
	umount /e
}

# Leaks since before the module was first loaded, on a kernel that can tell.
t_kmemleak()
{
	[ -e /sys/kernel/debug/kmemleak ] || skip "this kernel has no kmemleak"
	mars-kmemleak scan
}

[ -n "$one" ] || mars-kmemleak clear
t setup 60 setup
t fresh 30 t_fresh
t arming 60 t_arming
t separate 60 t_separate
t bind 60 t_bind
t abi 60 t_abi
t modes 60 t_modes
t memory 120 t_memory
t bad-values 120 t_bad_values
t good-values 60 t_good_values
t bad-paths 60 t_bad_paths
t overlay 60 t_overlay
t detach 60 t_detach
t open-file 60 t_open_file
t storm 120 t_storm
t unload 60 t_unload
t kmemleak 120 t_kmemleak
