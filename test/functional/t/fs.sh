# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# Every file system in every form that is said to be accelerated: reads are right
# and the counters say that MARS did them. And those that are said not to be.
# The races that XFS and ext4 cannot have (see races.sh) are here too.

FILE=/t/file SEED=71 SIZE=$(scaled 80000001 30000001)

setup()
{
	slow_null 9 3000000
	mars_load
}

# begin FS DISK [MKFS-OPTION...]
begin()
{
	begin_fs=$1 begin_disk=$2
	shift 2
	trap 'umount /t 2>/dev/null || true' EXIT
	mount_fs "$begin_fs" "$begin_disk" /t "$@"
	mars_attach /t
	mars_on /t
}

# The same file system, mounted with other options.
mount_with()
{
	umount /t
	mount -t "$begin_fs" -o "$1" "$(readlink -f "/dev/mars-disk$begin_disk")" /t
	mars_attach /t
	mars_on /t
}

finish()
{
	e=$(entry /t)
	umount /t
	native || wait_for 10 gone "$e"
}

# Cold and in part resident, anywhere and up to the end.
check()
{
	mread rdcheck "$@" --seed $SEED --res cold --min 8M --max "$(scaled 64M 24M)" --count 2 --rng 1
	mread rdcheck "$@" --seed $SEED --res cold --min 1M --max 16M --near-eof --count 2 --rng 2
	mread rdcheck "$@" --seed $SEED --res scatter --min 1M --max 8M --count 2 --rng 3
}

plain()
{
	begin "$@"
	mread mkfile $FILE "$SIZE" --seed $SEED
	check $FILE
}

t_xfs_4k() { plain xfs 0; reflinked; finish; }
# Sectors of 512 bytes, which disk 0 need not have.
t_xfs_1k() { plain xfs 9 -b size=1024; finish; }
t_ext4_4k() { plain ext4 0; finish; }
t_ext4_1k() { plain ext4 9 -b 1024; finish; }
t_btrfs() { plain btrfs 0; reflinked; finish; }
t_btrfs_raid0() { plain btrfs 0 -d raid0 -m raid0 /dev/mars-disk1; finish; }
t_f2fs() { plain f2fs 0; finish; }

reflinked()
{
	xfs_io -f -c "reflink $FILE" /t/clone
	mread rdcheck /t/clone --seed $SEED --res cold --min 8M --max "$(scaled 64M 24M)" --count 2 --rng 4
}

t_xfs_realtime()
{
	trap 'umount /t 2>/dev/null || true' EXIT
	mkdir -p /t
	mkfs.xfs -q -f -m reflink=0,rmapbt=0 -d rtinherit=1 -r rtdev=/dev/mars-disk1 /dev/mars-disk0
	mount -t xfs -o rtdev=/dev/mars-disk1 /dev/mars-disk0 /t
	mars_attach /t
	mars_on /t
	mread mkfile $FILE "$SIZE" --seed $SEED
	check $FILE
	finish
}

t_ext4_journal()
{
	begin ext4 0
	mount_with data=journal
	mread mkfile $FILE "$SIZE" --seed $SEED
	check $FILE
	finish
}

# A file in its inode is small and stays native, however large the buffer; it then
# grows out of it.
t_ext4_inline()
{
	begin ext4 0 -O inline_data
	mread mkfile /t/inline 100 --seed $SEED
	lsattr /t/inline | grep -q '^[-a-zA-Z]*N' || fail "not inline: $(lsattr /t/inline)"
	native || small=$(mars_stat /t native_small)
	mread drop /t/inline
	mread bigread /t/inline --seed $SEED --len 4M
	native || [ "$(mars_stat /t native_small)" -gt "$small" ] || fail "the short file was not counted as small"
	mread mkfile $FILE 100 --seed $SEED
	mread mkfile $FILE "$SIZE" --seed $SEED
	check $FILE
	finish
}

# Half of it zeros, written as data: so it can be compressed.
compressible()
{
	mread mkfile /tmp/sparse 64M --seed $SEED --layout sparse
	cat /tmp/sparse >>$FILE
	rm /tmp/sparse
	sync
	filefrag -v $FILE | grep -q encoded || fail "the file is not compressed: $(filefrag -v $FILE | head -n 6)"
	# The file system brings in more than it is asked for, whole compressed extents.
	check $FILE --layout sparse --loose
}

t_btrfs_zstd()
{
	begin btrfs 0
	mount_with compress-force=zstd
	compressible
	finish
}

t_f2fs_compressed()
{
	begin f2fs 0 -O extra_attr,compression
	mount_with compress_algorithm=lz4
	: >$FILE
	chattr +c $FILE
	compressible
	finish
}

# What an overlay reads is read from the file system below.
overlay_over()
{
	begin "$1" 0
	mkdir -p /t/lower /t/upper /t/work /merged
	mread mkfile /t/lower/file 64M --seed $SEED
	mount -t overlay -o lowerdir=/t/lower,upperdir=/t/upper,workdir=/t/work none /merged
	trap '{ umount /merged; umount /t; } 2>/dev/null || true' EXIT
	mread drop /t/lower/file
	native || set -- "$(mars_stat /t reads)" "$(mars_stat /t bytes_missed)"
	mread bigread /merged/file --seed $SEED --off 1234567 --len 40M
	native || [ "$(mars_stat /t reads)" = $(($1 + 1)) ] || fail "MARS did not do the read of the lower file"
	native || [ "$(mars_stat /t bytes_missed)" = $(($2 + 41943040)) ] ||
		fail "bytes_missed rose by $(($(mars_stat /t bytes_missed) - $2))"
	umount /merged
	finish
}

t_overlay()
{
	modprobe -q overlay || true
	overlay_over xfs
	overlay_over ext4
}

refused()
{
	native || put "$SYS/attach" "$1" EOPNOTSUPP
}

t_tmpfs()
{
	mkdir -p /mem
	mount -t tmpfs none /mem
	trap 'umount /mem' EXIT
	mread mkfile /mem/file 16M --seed $SEED
	refused /mem
	mread bigread /mem/file --seed $SEED --len 16M
}

t_vfat()
{
	trap 'umount /t' EXIT
	mount_fs vfat 0 /t
	mread mkfile $FILE 16M --seed $SEED
	refused /t
	mread drop $FILE
	mread bigread $FILE --seed $SEED --len 16M
}

# Nobody serves it, and nobody has to.
t_fuse()
{
	modprobe -q fuse || true
	mkdir -p /fuse
	exec 7<>/dev/fuse
	mount -i -t fuse -o fd=7,rootmode=40000,user_id=0,group_id=0 none /fuse
	trap 'umount -l /fuse' EXIT
	refused /fuse
}

# The disk itself, below an attached file system.
t_block()
{
	plain xfs 0
	refused /dev/mars-disk0
	native || reads=$(mars_stat /t reads)
	echo 3 >/proc/sys/vm/drop_caches
	dd if=/dev/mars-disk0 of=/dev/null bs=8M count=8
	native || [ "$(mars_stat /t reads)" = "$reads" ] || fail "a read of the disk was counted"
	finish
}

# A file as a disk: the kernel reads it into memory of its own.
t_loop()
{
	modprobe -q loop || true
	begin xfs 0
	mkdir -p /inner
	truncate -s 200M /t/image
	mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 /t/image
	mount -o loop /t/image /inner
	trap '{ umount /inner; umount /t; } 2>/dev/null || true' EXIT
	mread mkfile /inner/file 64M --seed $SEED
	native || put "$(entry /t)/min_read_bytes" 4K 0
	umount /inner
	mread drop /t/image
	mount -o loop /t/image /inner
	native || set -- "$(mars_stat /t reads)" "$(mars_stat /t native_iter)"
	mread bigread /inner/file --seed $SEED --len 64M
	native || [ "$(mars_stat /t reads)" = "$1" ] || fail "a read of a loop device was counted as one of MARS"
	native || [ "$(mars_stat /t native_iter)" -gt "$2" ] || fail "native_iter did not rise"
	umount /inner
	finish
}

# A race of races.sh, named FS-CHANGE, on the slow disk. One reader: when folios go
# before it has copied them, it is by the change.
race()
{
	begin "${1%-*}" 9
	mread vrace /t/race --seconds "$RACE_SECONDS" --change "${1#*-}" --readers 1 --retries
	finish
}

# Deduplicating takes few folios away, and seldom those of a read under way.
t_btrfs_dedupe()
{
	begin btrfs 9
	mread vrace /t/race --seconds "$RACE_SECONDS" --change dedupe
	finish
}

# f2fs moves a range block by block.
t_f2fs_shift()
{
	begin f2fs 0
	mread vrace /t/race --seconds "$RACE_SECONDS" --change shift --size 16M --len 8M --fewest 4
	finish
}

once()
{
	begin "${1%-*}" 9
	mread mkfile /t/once "$(scaled 128M 32M)" --seed $SEED
	mread readers /t/once --nr 8 --disk "$(disk_number 9)" --seed $SEED --chunk 32M
	finish
}

t_unload()
{
	mars_unload
}

t setup 60 setup
t xfs-4k 120 t_xfs_4k
t xfs-1k 90 t_xfs_1k
t xfs-realtime 90 t_xfs_realtime
t ext4-4k 90 t_ext4_4k
t ext4-1k 90 t_ext4_1k
t ext4-journal 120 t_ext4_journal
t ext4-inline 90 t_ext4_inline
t btrfs 120 t_btrfs
t btrfs-zstd 120 t_btrfs_zstd
t btrfs-raid0 90 t_btrfs_raid0
t f2fs 90 t_f2fs
t f2fs-compressed 120 t_f2fs_compressed
t overlay 120 t_overlay
t tmpfs 30 t_tmpfs
t vfat 60 t_vfat
t fuse 30 t_fuse
t block 90 t_block
t loop 120 t_loop
t btrfs-zero 120 race
t btrfs-direct 120 race
t btrfs-clone 120 race
t btrfs-dedupe 120 t_btrfs_dedupe
t f2fs-zero 120 race
t f2fs-shift 120 t_f2fs_shift
t btrfs-once 120 once
t f2fs-once 120 once
t unload 60 t_unload
