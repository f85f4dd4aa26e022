# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# The differential tester: sequences of random operations on two files, one on a
# file system that MARS serves and one on another of the same kind, $FS, that it
# does not. Both lie on mappings, "left" and "right", so that both can be slow.

# Each kernel and file system has sequences of its own, the same ones each time.
FIRST=$((0x$(printf '%s' "$MARS_KERNEL $FS" | md5sum | cut -c 1-4) % 1000 * 1000000))

# sequences N: how many of N to run. Instrumented kernels take ten times as long.
sequences()
{
	if [ -n "${MREAD_LONG-}" ]; then
		echo $(($1 * 5000 / 150))
	elif [ "$TIME_FACTOR" -gt 3 ]; then
		echo $(($1 / 5))
	else
		echo "$1"
	fi
}

seconds()
{
	if [ -n "${MREAD_LONG-}" ]; then echo $(($1 * 20)); else echo "$1"; fi
}

setup()
{
	dm_disk left /dev/mars-disk0
	dm_disk right /dev/mars-disk1
	mount_dm "$FS" left /left
	mount_dm "$FS" right /right
	mars_load
	mars_attach /left
	mars_attach /right
}

# Without MARS there is no difference: what the tests below find is its doing.
t_native()
{
	mread diff /left /right --native --seed "$FIRST" --count "$(sequences 20)"
}

# A difference made on purpose is found, and shrunk to what it takes. Without that
# the tests below could pass by seeing nothing. (In memory, for speed.)
t_plant()
{
	mkdir -p /mem
	mount -t tmpfs mem /mem
	mkdir /mem/0 /mem/1
	for kind in byte both guard behind return position atime file pair; do
		mread diff /mem/0 /mem/1 --native --seed "$FIRST" --count 20 --plant "$kind"
	done
	umount /mem
}

# One file system enabled, the other attached and not.
t_random()
{
	mars_on /right
	mread diff /left /right --seed $((FIRST + 1000)) --count "$(sequences 100)"
	native || [ "$(mars_stat /left reads)" = 0 ] || fail "the side that is to be native was not"
}

# Disks that take their time: reads wait, and what is done meanwhile matters.
t_slow()
{
	trap 'dm_go left || true; dm_go right || true' EXIT
	for name in left right; do
		dev=$(cat /tmp/dm.$name)
		dm_table $name "0 $(blockdev --getsz "$dev") delay $dev 0 12 $dev 0 0"
	done
	mars_on /right
	mread diff /left /right --seed $((FIRST + 500000)) --count "$(sequences 50)"
	native && return 0
	for counter in bytes_masked bytes_out_of_order bytes_faulted_in bytes_waited; do
		echo "$counter $(mars_stat /right $counter)"
		[ "$(mars_stat /right $counter)" -gt 0 ] ||
			fail "the disks were not slow enough: $counter is 0"
	done
}

t_teardown()
{
	umount /left
	umount /right
	mars_unload
	native || [ ! -e "$SYS" ] || fail "$SYS is still there after rmmod"
}

t setup 120 setup
t native "$(seconds 120)" t_native
t plant 120 t_plant
t random "$(seconds 240)" t_random
t slow "$(seconds 240)" t_slow
t teardown 60 t_teardown
