# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# What the guest's test files share. With MREAD_NATIVE set the module is never
# loaded and nothing is expected of it: the data tests then run natively.

SYS=/sys/fs/mars

# There is no udev in the guest: libdevmapper makes the nodes itself.
export DM_DISABLE_UDEV=1

# Limits are for a machine of our own; others may share it. Instrumented kernels
# (KASAN, lockdep) are several times slower still.
TIME_FACTOR=3
INSTRUMENTED=
if [ -e /sys/kernel/debug/kmemleak ]; then
	TIME_FACTOR=12
	INSTRUMENTED=yes
fi

# scaled SIZE SMALLER: the second on an instrumented kernel, which needs many
# times as long for a page; what it looks for shows in small files as well.
scaled()
{
	if [ -n "$INSTRUMENTED" ]; then echo "$2"; else echo "$1"; fi
}

# How long a race goes on. (SC2034: the files of t use it.)
# shellcheck disable=SC2034
if [ -n "${MREAD_LONG-}" ]; then RACE_SECONDS=60; else RACE_SECONDS=8; fi

fail()
{
	echo "FAILED: $*"
	exit 1
}

skip()
{
	echo "$*"
	exit 77
}

native()
{
	[ -n "${MREAD_NATIVE-}" ]
}

uptime_cs()
{
	cut -d' ' -f1 /proc/uptime | tr -d .
}

# wait_for SECONDS COMMAND…: until it succeeds, or fail.
wait_for()
{
	wait_end=$(($(uptime_cs) + $1 * TIME_FACTOR * 100))
	shift
	until "$@"; do
		[ "$(uptime_cs)" -lt "$wait_end" ] || fail "waited too long for: $*"
		sleep 0.1
	done
}

gone()
{
	[ ! -e "$1" ]
}

exited()
{
	! kill -0 "$1" 2>/dev/null
}

# Asleep without interruption: in D state, inside the kernel.
asleep()
{
	grep -q '^State:[[:space:]]*D' "/proc/$1/status"
}

errno()
{
	case $1 in
	0) echo 0 ;;
	ENOENT) echo 2 ;;
	EBUSY) echo 16 ;;
	EEXIST) echo 17 ;;
	EINVAL) echo 22 ;;
	ERANGE) echo 34 ;;
	ENAMETOOLONG) echo 36 ;;
	EOPNOTSUPP) echo 95 ;;
	*) fail "lib.sh does not know the errno $1" ;;
	esac
}

# put FILE TEXT ERRNO: a write must end with exactly that errno (0: success).
put()
{
	put_rc=0
	mread put "$1" "$2" || put_rc=$?
	[ "$put_rc" = "$(errno "$3")" ] || fail "writing '$2' to $1: errno $put_rc, expected $3"
}

mars_load()
{
	native || insmod /mars/mars.ko
}

mars_unload()
{
	native || rmmod mars
}

# The directory of the mounted file system at $1. Its number is not always the one
# that stat() tells: btrfs has one for each subvolume.
entry()
{
	awk -v at="$1" -v sys="$SYS" '$5 == at { number = $3 }
		END { print sys "/mounts/" number }' /proc/self/mountinfo
}

mars_attach()
{
	native || put "$SYS/attach" "$1" 0
}

mars_on()
{
	native || put "$(entry "$1")/enabled" 1 0
}

mars_off()
{
	native || put "$(entry "$1")/enabled" 0 0
}

mars_stat()
{
	cat "$(entry "$1")/stats/$2"
}

# The kernel log from now on, for a test that expects a message.
log_mark()
{
	LOG_MARK=$(dmesg | wc -l)
}

log_since()
{
	dmesg | tail -n "+$((LOG_MARK + 1))"
}

expect_log()
{
	log_since | grep -q "$1" ||
		fail "the kernel log says nothing that matches '$1': $(log_since | tail -n 3)"
}

# lists y|n: the lists of pages by generations, or the two classic ones, until the end
# of the test, or until $lists_back.
lists()
{
	lists_of=/sys/kernel/mm/lru_gen/enabled lists_back=:
	if [ -e $lists_of ]; then
		lists_back="echo $(cat $lists_of) >$lists_of"
		echo "$1" >$lists_of
	fi
	# shellcheck disable=SC2064  # as it is now
	trap "$lists_back" EXIT
}

# Pages that reclaim has taken; nothing where the kernel does not count.
stolen()
{
	awk '/^pgsteal_(kswapd|direct) / { n += $2; counts = 1 } END { if (counts) print n }' /proc/vmstat
}

# reclaims COMMAND…: it cannot do without.
reclaims()
{
	stolen_before=$(stolen)
	"$@"
	[ -z "$stolen_before" ] || [ "$(stolen)" -gt "$stolen_before" ] || fail "nothing was reclaimed"
}

# thread_switches NAME: how often the thread NAME, or each thread NAME/CPU, has gone to
# sleep so far.
thread_switches()
{
	for comm in /proc/[0-9]*/comm; do
		read -r name <"$comm" || continue
		case $name in
		"$1" | "$1"/*) sed -n "s#^voluntary_ctxt_switches:#$name#p" "${comm%comm}status" ;;
		esac
	done 2>/dev/null
}

# Every CPU is busy from now on, to the end of the test.
hog_cpus()
{
	hogs=
	for cpu in $(seq 0 $(($(nproc) - 1))); do
		taskset $((1 << cpu)) sh -c 'while :; do :; done' &
		hogs="$hogs $!"
	done
	# shellcheck disable=SC2064,SC2086
	trap "kill $hogs" EXIT
	sleep 1
}

# CPU 1 goes and comes, eight times.
replug_cpu1()
{
	for i in 1 2 3 4 5 6 7 8; do
		echo 0 >/sys/devices/system/cpu/cpu1/online
		sleep 0.$i
		echo 1 >/sys/devices/system/cpu/cpu1/online
		sleep 0.$i
	done
}

# dm_disk NAME DEVICE: a linear mapping, to hold its I/O back or spoil a sector.
dm_disk()
{
	modprobe -a -q dm-mod dm-delay 2>/dev/null || true
	dmsetup create "$1" --table "0 $(blockdev --getsz "$2") linear $2 0"
	echo "$2" >"/tmp/dm.$1"
}

dm_table()
{
	dmsetup suspend --nolockfs "$1"
	dmsetup load "$1" --table "$2"
	dmsetup resume "$1"
}

# dm_stop NAME: from now on no read ends, until dm_go. (A suspended mapping would
# not do: it fails read-ahead at once.) Changing the table back ends what waits.
dm_stop()
{
	dm_dev=$(cat "/tmp/dm.$1")
	dm_table "$1" "0 $(blockdev --getsz "$dm_dev") delay $dm_dev 0 600000 $dm_dev 0 0"
}

dm_go()
{
	dm_dev=$(cat "/tmp/dm.$1")
	dm_table "$1" "0 $(blockdev --getsz "$dm_dev") linear $dm_dev 0"
}

# dm_bad NAME SECTOR...: 4 KiB at each sector cannot be read.
dm_bad()
{
	bad_name=$1 bad_dev=$(cat "/tmp/dm.$1") bad_at=0 bad_table=
	bad_size=$(blockdev --getsz "$bad_dev")
	shift
	for bad_sector in $(printf '%s\n' "$@" | sort -n); do
		[ "$bad_sector" = $bad_at ] || bad_table="$bad_table$bad_at $((bad_sector - bad_at)) linear $bad_dev $bad_at
"
		bad_table="$bad_table$bad_sector 8 error
"
		bad_at=$((bad_sector + 8))
	done
	dm_table "$bad_name" "$bad_table$bad_at $((bad_size - bad_at)) linear $bad_dev $bad_at"
}

# dm_late NAME SECTOR: the 4 KiB at the sector do not come until dm_go.
dm_late()
{
	late_dev=$(cat "/tmp/dm.$1") late_end=$(($2 + 8))
	dm_table "$1" "0 $2 linear $late_dev 0
$2 8 delay $late_dev $2 600000 $late_dev $2 0
$late_end $(($(blockdev --getsz "$late_dev") - late_end)) linear $late_dev $late_end"
}

# slow_null N NSEC: one more disk, /dev/mars-diskN, in memory, every request of
# which takes that long. There is always I/O under way then, at no cost of CPU.
slow_null()
{
	say()
	{
		echo "$*" >&2
	}
	# shellcheck source=test/vm/guest/disks.sh
	. /mars/disks.sh
	slow_dev=$(null_blk "mars$1" queue_mode=2 irqmode=2 completion_nsec="$2" submit_queues=1 \
		hw_queue_depth=64 memory_backed=1 size=1024) || fail "no slow disk"
	ln -s "$slow_dev" "/dev/mars-disk$1"
}

# MAJOR:MINOR of /dev/mars-diskN
disk_number()
{
	mountpoint -x "$(readlink -f "/dev/mars-disk$1")"
}

# mount_fs FS DISK MOUNTPOINT [MKFS-OPTION...]: makes the file system and mounts it.
mount_fs()
{
	mkdir -p "$3"
	mars-mkfs-mount "$@" >/dev/null
}

# mount_dm FS NAME MOUNTPOINT [MKFS-OPTION...]: the same on a mapping.
mount_dm()
{
	dm_fs=$1 dm_disk=/dev/mapper/$2 dm_where=$3
	shift 3
	mkdir -p "$dm_where"
	modprobe -q "$dm_fs" || true
	case $dm_fs in
	xfs | btrfs) "mkfs.$dm_fs" -q -f "$@" "$dm_disk" ;;
	ext4) mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 "$@" "$dm_disk" ;;
	*) fail "mount_dm does not know how to make $dm_fs" ;;
	esac
	mount -t "$dm_fs" "$dm_disk" "$dm_where"
}
