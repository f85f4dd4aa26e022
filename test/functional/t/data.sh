# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# Every kind of read of one file system, verified byte for byte, with the
# counters as proof that MARS did it. $FS is on /t.

BIG=/t/big SPARSE=/t/sparse ODD=/t/odd

# more COUNT: as many as this run asks for.
more()
{
	if [ -n "${MREAD_LONG-}" ]; then echo $(($1 * 10)); else scaled "$1" $((($1 + 2) / 3)); fi
}

setup()
{
	mount_fs "$FS" 0 /t
	mread mkfile "$BIG" "$(scaled 320M 96M)" --seed 11
	mread mkfile "$SPARSE" "$(scaled 96M 40M)" --seed 12 --layout sparse
	mread mkfile "$ODD" 20999999 --seed 13
	mars_load
	mars_attach /t
	mars_on /t
}

# Making the cache what the read is to find takes most of the time, hence no more
# than a window and a half here; t_huge reads more than four.
residency()
{
	mread rdcheck "$BIG" --seed 11 --res "$1" --min 1M --max 96M --count "$(more 8)" --rng "$2"
}

t_cold() { residency cold 1; }
t_warm() { residency warm 2; }
t_prefix() { residency prefix 3; }
t_suffix() { residency suffix 4; }
t_scatter() { residency scatter 5; }
t_small() { mread rdcheck "$BIG" --seed 11 --min 1 --max 4M --count "$(more 60)" --rng 6; }
t_huge()
{
	for res in cold prefix scatter; do
		mread rdcheck "$BIG" --seed 11 --res $res --min "$(scaled 290M 80M)" \
			--max "$(scaled 300M 90M)" --count "$(more 1)" --rng 7
	done
}

t_read() { mread rdcheck "$BIG" --seed 11 --how read --max 64M --count "$(more 20)" --rng 8; }
t_readv() { mread rdcheck "$BIG" --seed 11 --how readv --max 64M --count "$(more 20)" --rng 9; }
t_preadv() { mread rdcheck "$BIG" --seed 11 --how preadv --max 64M --count "$(more 20)" --rng 10; }

t_eof()
{
	mread rdcheck "$ODD" --seed 13 --near-eof --max 21M --count "$(more 50)" --rng 11
	mread rdcheck "$BIG" --seed 11 --near-eof --max 8M --count "$(more 60)" --rng 12
}

# The end of the longest file there is: on XFS that is the end of what a position
# can say, where sums overflow.
t_far_end()
{
	case $FS in
	ext4) far=17592186040320 ;;
	*) far=9223372036854775807 ;;
	esac
	truncate -s $far /t/far
	for left in 1048576 2883584; do
		rm -f /tmp/far
		timeout 60 busybox dd if=/t/far of=/tmp/far bs=$left count=1 \
			skip=$((far - left)) iflag=skip_bytes 2>/dev/null || fail "the read does not end, or fails"
		[ "$(wc -c </tmp/far)" = $left ] || fail "$(wc -c </tmp/far) bytes instead of $left"
		[ -z "$(tr -d '\0' <"/tmp/far" | head -c 1)" ] || fail "a hole reads as something else"
	done
	rm /t/far /tmp/far
}

t_holes()
{
	mread rdcheck "$SPARSE" --seed 12 --layout sparse --max 96M --count "$(more 30)" --rng 13
	mread rdcheck "$SPARSE" --seed 12 --layout sparse --max 4M --how preadv \
		--count "$(more 20)" --rng 14
}

t_position()
{
	mread fpos "$BIG" --seed 11 --chunk 16M
	mread fpos "$ODD" --seed 13 --chunk 3000001
}

t_selfmap()
{
	mread mkfile /t/selfmap 64M --seed 14
	mread selfmap /t/selfmap --seed 14
	rm /t/selfmap
}

t_badbuf() { mread badbuf "$BIG" --seed 11; }
t_flags() { mread flags "$BIG" --seed 11; }

readers()
{
	disk=$(mountpoint -d /t)
	mread mkfile /t/readers 64M --seed 15
	mread readers /t/readers --nr "$1" --disk "$disk" --seed 15 --chunk "$2"
	rm /t/readers
}

t_readers2() { readers 2 64M; readers 2 7M; }
t_readers8() { readers 8 64M; readers 8 3000001; }

# Each value that shapes a read, at both ends of its range and beside it.
t_knobs()
{
	native && skip "no knobs without MARS"
	e=$(entry /t)
	for set in "1M 64K 4K" "1M 1M 2M" "3M 68K 16K" "1G 1G 64M" "64M 64M 2M" "256M 4M 128K"; do
		# shellcheck disable=SC2086  # three words
		set -- $set
		put "$e/batch_bytes" 64K 0
		put "$e/window_bytes" "$1" 0
		put "$e/batch_bytes" "$2" 0
		put "$e/max_folio_bytes" "$3" 0
		echo "window $1 batch $2 folio $3"
		mread rdcheck "$BIG" --seed 11 --max 40M --min 1M --count "$(more 4)" --rng 15
	done
	put "$e/window_bytes" 64M 0
	put "$e/batch_bytes" 1M 0
	put "$e/max_folio_bytes" 2M 0
}

# Each way of masking the wait returns the same bytes. What is copied out of
# order, and what is faulted in ahead, shows that the settings do something.
t_masking()
{
	native && skip "nothing to mask without MARS"
	e=$(entry /t)
	for set in "off 0" "off 1" "ordered 0" "any 0" "any 1"; do
		put "$e/early_copy" "${set% *}" 0
		put "$e/fault_in" "${set#* }" 0
		out_of_order=$(mars_stat /t bytes_out_of_order)
		faulted=$(mars_stat /t bytes_faulted_in)
		echo "early_copy and fault_in: $set"
		mread rdcheck "$BIG" --seed 11 --res cold --min 1M --max 32M --count "$(more 3)" --rng 19
		mread rdcheck "$BIG" --seed 11 --res scatter --min 1M --max 16M --count "$(more 2)" --rng 20
		mread rdcheck "$BIG" --seed 11 --how preadv --min 1M --max 16M --count "$(more 2)" --rng 21
		[ "${set% *}" = any ] || [ "$(mars_stat /t bytes_out_of_order)" = "$out_of_order" ] ||
			fail "early_copy=${set% *} copied out of order"
		[ "${set#* }" = 1 ] || [ "$(mars_stat /t bytes_faulted_in)" = "$faulted" ] ||
			fail "fault_in=0 faulted pages in"
	done
	put "$e/early_copy" off 0
	mread badbuf "$BIG" --seed 11
	put "$e/early_copy" ordered 0
	put "$e/fault_in" 1 0
}

# min_read_bytes is the size that counts from which MARS reads.
t_min_read()
{
	native && skip "no knobs without MARS"
	e=$(entry /t)
	put "$e/min_read_bytes" 4K 0
	mread rdcheck "$BIG" --seed 11 --min 1 --max 64K --count "$(more 60)" --rng 16
	mread rdcheck "$ODD" --seed 13 --near-eof --min 1 --max 64K --count "$(more 60)" --rng 17
	put "$e/min_read_bytes" 8M 0
	mread rdcheck "$BIG" --seed 11 --min 4M --max 16M --count "$(more 10)" --rng 18
	put "$e/min_read_bytes" 1M 0
}

# Both switches work on the next read, and only on this mount.
t_off()
{
	native && skip "nothing to switch off without MARS"
	put "$SYS/enabled" 0 0
	before=$(mars_stat /t reads)
	mread bigread "$BIG" --seed 11 --len 32M
	[ "$(mars_stat /t reads)" = "$before" ] || fail "a read was counted with $SYS/enabled=0"
	put "$SYS/enabled" 1 0
	mars_off /t
	mread bigread "$BIG" --seed 11 --len 32M
	[ "$(mars_stat /t reads)" = "$before" ] || fail "a read was counted with the mount's enabled=0"
	mars_on /t
	mread bigread "$BIG" --seed 11 --len 32M
	[ "$(mars_stat /t reads)" = $((before + 1)) ] || fail "no read was counted after enabling again"
}

t_side()
{
	mount -o remount,strictatime /t
	mread side "$BIG" --seed 11
	mount -o remount,relatime /t
}

in_cgroup()
{
	sh -c "echo \$\$ >$cg/cgroup.procs && exec mread $*"
}

# A large read in a small memory cgroup succeeds as it does natively.
t_memcg()
{
	cg=/sys/fs/cgroup/mars-small
	[ -e /sys/fs/cgroup/cgroup.controllers ] || fail "no cgroup2 in this guest"
	echo +memory >/sys/fs/cgroup/cgroup.subtree_control
	mkdir -p $cg
	for limit in max:96M max:64M high:64M; do
		echo max >$cg/memory.max
		echo max >$cg/memory.high
		echo "${limit#*:}" >"$cg/memory.${limit%:*}"
		in_cgroup rdcheck "$BIG" --seed 11 --res cold --min 38M --max 40M --count "$(more 2)" --rng 22 ||
			fail "40 MiB reads with memory.${limit%:*} at ${limit#*:}"
	done
	in_cgroup fpos "$BIG" --seed 11 --chunk 48000001
	! grep -q '^oom_kill [1-9]' $cg/memory.events || fail "$(cat $cg/memory.events)"
	rmdir $cg
}

# All of memory taken: allocation fails and reclaim works beside the reads.
t_pressure()
{
	mkdir -p /fill
	mount -t tmpfs -o size=100% fill /fill
	fallocate -l "$(awk '/MemAvailable/ { printf "%.0f", ($2 - 200000) * 1024 }' /proc/meminfo)" \
		/fill/filler
	rc=0
	for early in off any ordered; do
		native || put "$(entry /t)/early_copy" $early 0
		mread bigread "$BIG" --seed 11 --len 60000001 || rc=$?
	done
	mread fpos "$ODD" --seed 13 --chunk 3M || rc=$?
	umount /fill
	return "$rc"
}

# Taken down with everything still attached and enabled.
t_teardown()
{
	e=$(entry /t)
	umount /t
	wait_for 5 gone "$e"
	mars_unload
	[ ! -e "$SYS" ] || fail "$SYS is still there after rmmod"
}

t setup 120 setup
t cold 120 t_cold
t warm 120 t_warm
t prefix 120 t_prefix
t suffix 120 t_suffix
t scatter 120 t_scatter
t small 120 t_small
t huge 120 t_huge
t read 120 t_read
t readv 120 t_readv
t preadv 120 t_preadv
t eof 120 t_eof
t far-end 90 t_far_end
t holes 120 t_holes
t position 120 t_position
t selfmap 120 t_selfmap
t badbuf 120 t_badbuf
t flags 120 t_flags
t readers2 120 t_readers2
t readers8 180 t_readers8
t knobs 180 t_knobs
t masking 240 t_masking
t min-read 120 t_min_read
t off 120 t_off
t side 120 t_side
t memcg 180 t_memcg
t pressure 180 t_pressure
t teardown 60 t_teardown
