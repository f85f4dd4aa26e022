# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# Readers of a file beside those who change it, and beside those who take its
# pages away: every block says of which generation it is, so nothing stale, torn
# or never written goes unnoticed. $FS is on /t, on a disk that takes 3 ms, so
# that there is always I/O under way for a change to hit.

setup()
{
	slow_null 9 3000000
	mount_fs "$FS" 9 /t
	mars_load
	mars_attach /t
	mars_on /t
}

# Each read of a race may find another early_copy.
stir()
{
	while :; do
		for early in off any ordered; do
			echo $early >"$1/early_copy"
			sleep 0.3
		done
	done
}

race()
{
	native || stir "$(entry /t)" &
	stirrer=$!
	rc=0
	mread vrace /t/race --mount /t --seconds "$RACE_SECONDS" "$@" || rc=$?
	kill $stirrer 2>/dev/null || true
	native || put "$(entry /t)/early_copy" ordered 0
	rm -f /t/race
	[ $rc = 0 ] || exit $rc
}

# XFS keeps who changes a file out while it is read: no block may come in pieces.
# Elsewhere they meet. One reader alone, whose folios go before it has copied them,
# shows it: nobody else takes them away. Then two.
meet()
{
	case $FS in
	xfs) race --change "$1" --whole ;;
	*)
		race --change "$1" --seconds $((RACE_SECONDS / 2)) --readers 1 --retries
		race --change "$1" --seconds $((RACE_SECONDS / 2)) ;;
	esac
}

# Overwriting takes no folio away.
t_write()
{
	case $FS in
	xfs) race --change write --whole ;;
	*) race --change write ;;
	esac
}

t_direct() { race --change direct; }
t_mmap() { race --change mmap; }

t_drop() { race --disturb drop --change write; }
t_dontneed() { race --disturb dontneed --change write; }

vmstat()
{
	awk -v want="$1" '$1 == want { print $2 }' /proc/vmstat
}

# Pages of the cache are moved to make room for larger ones.
t_compact()
{
	before=$(vmstat pgmigrate_success)
	race --disturb compact --change write --keep
	[ -z "$before" ] || [ "$(vmstat pgmigrate_success)" -gt "$before" ] || fail "compaction moved not one page"
}

# A memory cgroup in which the file does not fit: pages go as they come.
t_reclaim()
{
	cg=/sys/fs/cgroup/mars-race
	[ -e /sys/fs/cgroup/cgroup.controllers ] || fail "no cgroup2 in this guest"
	echo +memory >/sys/fs/cgroup/cgroup.subtree_control
	mkdir -p $cg
	echo 56M >$cg/memory.max
	sh -c "echo \$\$ >$cg/cgroup.procs && exec mread vrace /t/race --size 96M --len 8M \
		--change write --keep --seconds $RACE_SECONDS"
	cat $cg/memory.events
	! grep -q '^oom_kill [1-9]' $cg/memory.events || fail "killed for want of memory"
	grep -q '^pgsteal [1-9]' $cg/memory.stat || fail "nothing was reclaimed"
	rm -f /t/race
	rmdir $cg
}

# All of the machine's memory taken but some, by huge pages, which nobody has to
# clear: the page cache is reclaimed, and large folios are hard to get.
t_pressure()
{
	huge=/proc/sys/vm/nr_hugepages
	trap 'mread put $huge 0' EXIT
	cat >/tmp/fill <<-SCRIPT
		awk '/MemAvailable/ { print int((\$2 - 60000) / 2048) }' /proc/meminfo >$huge
		cat $huge
	SCRIPT
	reclaims race --size "$(scaled 192M 96M)" --change write --keep --then "sh /tmp/fill"
}

t_freeze()
{
	trap 'fsfreeze -u /t 2>/dev/null || true' EXIT
	race --disturb freeze --change write
}

t_remount()
{
	trap 'mount -o remount,rw /t' EXIT
	race --disturb remount
}

# Eight readers, one read of each sector.
t_once()
{
	mread mkfile /t/once "$(scaled 256M 64M)" --seed 51
	mread readers /t/once --nr 8 --disk "$(disk_number 9)" --seed 51 --chunk 32M
	[ -z "${MREAD_LONG-}" ] || for chunk in 256M 5000001; do
		mread readers /t/once --nr 8 --disk "$(disk_number 9)" --seed 51 --chunk $chunk
	done
	rm /t/once
}

t_unload()
{
	umount /t
	mars_unload
}

t setup 60 setup
t write 120 t_write
t direct 120 t_direct
t mmap 120 t_mmap
t zero 120 meet
t punch 120 meet
t shift 120 meet
t split 120 meet
t clone 120 meet xfs
t dedupe 120 meet xfs
t drop 120 t_drop
t dontneed 120 t_dontneed
t compact 120 t_compact
t reclaim 120 t_reclaim
t pressure 120 t_pressure
t freeze 120 t_freeze
t remount 120 t_remount
t once 180 t_once
t unload 60 t_unload
