# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# Disks with bad blocks, that fail now and then, that go away in the middle of a
# read; data that do not match their checksums; and what MARS leaves to the native
# path, each for its reason. /t is made anew for each, on two mappings, one on the
# other: "base" can be taken away under "slow", whose I/O can be held back.

FILE=/t/file SEED=61 SIZE=72M
if [ -n "${MREAD_LONG-}" ]; then POINTS=64 POINTS_SECONDS=1200; else POINTS=6 POINTS_SECONDS=180; fi

setup()
{
	dm_disk base /dev/mars-disk0
	dm_disk slow /dev/mapper/base
	modprobe -q dm-flakey || true
	slow_null 9 3000000
	mount_fs xfs 9 /r
	mread mkfile /r/file 24M --seed 62
	mars_load
	mars_attach /r
	mars_on /r
}

unmount()
{
	! mountpoint -q /t || umount /t
}

# Read-only: nothing but the reads meets the errors.
mount_again()
{
	unmount
	mount -t "$1" -o ro /dev/mapper/slow /t
	mars_attach /t
	mars_on /t
}

# prepare FS [MKFS-OPTION...]
prepare()
{
	prepare_fs=$1
	shift
	unmount
	trap 'dm_go base; dm_go slow; unmount' EXIT
	mount_dm "$prepare_fs" slow /t "$@"
	mread mkfile $FILE "$SIZE" --seed "$SEED"
	mount_again "$prepare_fs"
}

# One and several, in the first and last page, at the edges of large folios.
bad_blocks()
{
	native || reissued=$(mars_stat /t native_reissue)
	for list in 0 2093056 67104768 1M,1052672,5000000,40M,62914560; do
		sectors=
		for off in $(echo $list | tr ',' ' '); do
			sectors="$sectors $(mread physical $FILE "$off")"
		done
		echo "bad: $list, sectors$sectors"
		# shellcheck disable=SC2086  # a list
		dm_bad slow $sectors
		mread badblocks $FILE --bad $list --seed "$SEED"
		dm_go slow
	done
	native || [ "$(mars_stat /t native_reissue)" -gt "$reissued" ] ||
		fail "native_reissue did not rise"
	mread drop $FILE
	mread fpos $FILE --seed "$SEED" --chunk 16M
}

t_xfs_blocks() { prepare xfs; bad_blocks; }
t_ext4_blocks() { prepare ext4; bad_blocks; }

in_guest="set -e; . /mars/test/lib.sh;"

# An error, and a signal, at every point of a large read, with each early_copy.
points()
{
	prepare "$1"
	for early in off ordered any; do
		native || put "$(entry /t)/early_copy" "$early" 0
		how_far=
		native || [ "$early" = ordered ] || how_far=--$early
		for how in error kill; do
			case $how in
			error) spoil=dm_bad ;;
			kill) spoil=dm_late ;;
			esac
			echo "early_copy=$early, $how"
			mread points $FILE --how $how --points "$POINTS" --seed "$SEED" $how_far \
				--spoil "$in_guest $spoil slow" --mend "$in_guest dm_go slow"
		done
	done
}

t_xfs_points() { points xfs; }
t_ext4_points() { points ext4; }

# Cold, from the beginning, in the background, with its number in "reader".
begin_read()
{
	mread bigread $FILE --seed "$SEED" --len 64M >/tmp/reader.log 2>&1 &
	reader=$!
}

# An error at 8 MiB is returned although the disk has yet to answer for 40 MiB.
t_xfs_late()
{
	prepare xfs
	dm_bad base "$(mread physical $FILE 8M)"
	dm_late slow "$(mread physical $FILE 40M)"
	begin_read
	wait_for 20 exited "$reader"
	! wait "$reader" || fail "a read over a bad block was whole: $(cat /tmp/reader.log)"
	dm_go slow
	dm_go base
	mread fpos $FILE --seed "$SEED" --chunk 16M
}

nothing_resident()
{
	echo 1 >/proc/sys/vm/drop_caches
	[ "$(mread resident $FILE)" = 0 ]
}

# A read that sleeps keeps nobody from what it does not sleep on.
t_xfs_sleeper()
{
	prepare xfs
	for early in ordered off; do
		native || put "$(entry /t)/early_copy" $early 0
		mread drop $FILE
		dm_late slow "$(mread physical $FILE 0)"
		begin_read
		wait_for 20 asleep "$reader"
		wait_for 20 nothing_resident
		dm_go slow
		wait_for 60 exited "$reader"
		wait "$reader" || fail "early_copy=$early: $(cat /tmp/reader.log)"
	done
}

# depth=auto: so fast a disk is soon known not to need all of the window in flight.
shallow()
{
	mread drop $FILE
	mread bigread $FILE --seed "$SEED" --len 64M
	[ "$(cat "$(entry /t)/depth_bytes")" -le 8388608 ]
}

# Bytes that a read of 64 MiB has under way while its first sector is yet to come.
under_way()
{
	mread drop $FILE
	before=$(mars_stat /t bytes_submitted)
	dm_late slow "$(mread physical $FILE 0)"
	begin_read
	wait_for 20 asleep "$reader"
	sleep 1
	submitted=$(($(mars_stat /t bytes_submitted) - before))
	dm_go slow
	wait_for 60 exited "$reader"
	wait "$reader" || fail "depth: $(cat /tmp/reader.log)"
}

t_xfs_depth()
{
	prepare xfs
	native && skip "native reads have no depth"
	put "$(entry /t)/depth" fixed 0
	learned=$(mars_stat /t reads_learned)
	mread drop $FILE
	mread bigread $FILE --seed "$SEED" --len 64M
	[ "$(mars_stat /t reads_learned)" = "$learned" ] || fail "depth=fixed, and something was learned"
	[ "$(cat "$(entry /t)/depth_bytes")" = 67108864 ] || fail "depth_bytes is not the window before anything is known"
	put "$(entry /t)/depth" auto 0
	wait_for 60 shallow
	[ "$(mars_stat /t reads_learned)" -ge $((learned + 4)) ] || fail "a limit after fewer than four reads"
	# Four times as much when it looks again, and a batch.
	under_way
	[ "$submitted" -le 35651584 ] || fail "$submitted bytes under way with depth_bytes of $(cat "$(entry /t)/depth_bytes")"
	put "$(entry /t)/depth" fixed 0
	under_way
	[ "$submitted" -ge 67108864 ] || fail "only $submitted bytes of a window of 64 MiB under way with depth=fixed"
}

# The disk goes away while a read waits for it.
disk_gone()
{
	prepare "$1"
	size=$(blockdev --getsz /dev/mars-disk0)
	mread mid $FILE --case command --seed "$SEED" --stop "$in_guest dm_stop slow" \
		--act "$in_guest dm_table base '0 $size error'" --go "$in_guest dm_go slow" \
		--back "$in_guest dm_go base"
	mount_again "$1"
	mread fpos $FILE --seed "$SEED" --chunk 16M
}

t_xfs_gone() { disk_gone xfs; }
t_ext4_gone() { disk_gone ext4; }

# One second good, one second bad; afterwards nothing of it is left.
flaky_disk()
{
	prepare "$1"
	dm_table slow "0 $(blockdev --getsz /dev/mapper/base) flakey /dev/mapper/base 0 1 1"
	mread flaky $FILE --seed "$SEED" --seconds "$RACE_SECONDS"
	dm_go slow
	mread fpos $FILE --seed "$SEED" --chunk 16M
	mread drop $FILE
	mread fpos $FILE --seed "$SEED" --chunk 16M
}

t_xfs_flaky() { flaky_disk xfs; }
t_ext4_flaky() { flaky_disk ext4; }

# spoil SECTOR...: other bytes there on the disk.
spoil()
{
	for sector in "$@"; do
		dd if=/dev/urandom of=/dev/mapper/slow bs=4096 seek=$((sector / 8)) count=1 \
			oflag=direct conv=notrunc 2>/dev/null
	done
}

# A seed of its own: the disk may hold copies of other files' blocks. What btrfs
# calls physical is not the place on the disk.
t_btrfs_csum()
{
	SEED=63 SIZE=24M
	prepare btrfs -b 300M
	unmount
	# shellcheck disable=SC2046  # a list
	spoil $(mread findblock /dev/mapper/slow 8M 20975616 --seed "$SEED" --most 300M)
	mount_again btrfs
	mread badblocks $FILE --bad 8M,20975616 --len 24M --granule 2M --seed "$SEED"
}

t_ext4_verity()
{
	SEED=64 SIZE=24M
	prepare ext4 -O verity
	mount -o remount,rw /t
	fsverity enable $FILE
	mread fpos $FILE --seed "$SEED" --chunk 16M
	set -- "$(mread physical $FILE 8M)" "$(mread physical $FILE 20975616)"
	unmount
	spoil "$@"
	mount_again ext4
	mread badblocks $FILE --bad 8M,20975616 --len 24M --seed "$SEED"
}

because() { mread reason /r/file --name "${1#because-}" --seed 62; }

t_because_context()
{
	insmod /mars/test/kmod/mars_test_context.ko
	trap 'rmmod mars_test_context' EXIT
	because context
}

# Read-ahead off, and a swap file.
t_because_file()
{
	disk=$(readlink -f /dev/mars-disk9)
	ra=$(blockdev --getra "$disk")
	blockdev --setra 0 "$disk"
	trap 'blockdev --setra "$ra" "$disk"; swapoff /r/swap 2>/dev/null || true' EXIT
	because file
	blockdev --setra "$ra" "$disk"
	mread mkfile /r/swap 16M
	chmod 600 /r/swap
	mkswap /r/swap
	swapon /r/swap
	native || count=$(mars_stat /r native_file)
	dd if=/r/swap of=/dev/null bs=4M
	native || [ "$(mars_stat /r native_file)" -gt "$count" ] || fail "a read of a swap file was not counted"
}

# Where the kernel can be told to fail: no memory for what a read needs to begin.
t_because_nomem()
{
	inject=/sys/kernel/debug/failslab
	cache=/sys/kernel/slab/mars_request/failslab
	[ -e $inject ] || skip "this kernel has no failslab"
	trap 'echo 0 >$inject/probability' EXIT
	echo 1 >$cache
	echo 1 >$inject/cache-filter
	echo 0 >$inject/ignore-gfp-wait
	echo 0 >$inject/verbose
	echo -1 >$inject/times
	echo 100 >$inject/probability
	because nomem
}

t_unload()
{
	umount /r
	mars_unload
}

t setup 60 setup
t xfs-blocks 180 t_xfs_blocks
t ext4-blocks 180 t_ext4_blocks
t xfs-points "$POINTS_SECONDS" t_xfs_points
t ext4-points "$POINTS_SECONDS" t_ext4_points
t xfs-late 120 t_xfs_late
t xfs-sleeper 180 t_xfs_sleeper
t xfs-depth 180 t_xfs_depth
t xfs-gone 90 t_xfs_gone
t ext4-gone 90 t_ext4_gone
t xfs-flaky 120 t_xfs_flaky
t ext4-flaky 120 t_ext4_flaky
t btrfs-csum 120 t_btrfs_csum
t ext4-verity 120 t_ext4_verity
t because-small 30 because
t because-flags 30 because
t because-iter 30 because
t because-context 30 t_because_context
t because-file 60 t_because_file
t because-nomem 30 t_because_nomem
t unload 60 t_unload
