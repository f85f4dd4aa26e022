# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# The disk profiles, from inside the guest; sourced by init. Each becomes
# /dev/mars-disk<N>, and a file system's metadata device, where it has one of
# its own, /dev/mars-disk<N>-meta.

list_blocks()
{
	for entry in /sys/block/*; do
		echo "${entry##*/}"
	done
}

# new_block COMMAND…: runs it, prints the block device that it made appear.
new_block()
{
	list_blocks >/run/blocks.before
	"$@" || return 1
	for _ in $(seq 50); do
		new=$(list_blocks | grep -vxF -f /run/blocks.before | head -n 1)
		if [ -n "$new" ] && [ -b "/dev/$new" ]; then
			echo "/dev/$new"
			return 0
		fi
		sleep 0.1
	done
	say "no block device appeared after: $*"
	return 1
}

# null_blk NAME ATTRIBUTE=VALUE…: prints its device.
null_blk()
{
	null_dir=/sys/kernel/config/nullb/$1
	shift
	mkdir "$null_dir" || return 1
	for attr in "$@"; do
		echo "${attr#*=}" >"$null_dir/${attr%%=*}" || {
			say "null_blk does not take $attr"
			return 1
		}
	done
	new_block null_power "$null_dir"
}

null_power()
{
	echo 1 >"$1/power"
}

load_null_blk()
{
	[ ! -d /sys/kernel/config/nullb ] || return 0
	modprobe null_blk nr_devices=0 || {
		say "this kernel has no null_blk"
		return 1
	}
}

set_queue()
{
	echo "$2" >"/sys/block/${1##*/}/queue/$3"
}

# A device whose reads cost no CPU, as with DMA: 0.8 ms a request, requests of
# at most 128 KiB, DEPTH of them at a time.
timed_null()
{
	null_blk "$1" queue_mode=2 irqmode=2 completion_nsec=800000 max_sectors=256 \
		submit_queues=1 hw_queue_depth="$2" size="$3" memory_backed=0
}

meta_null()
{
	null_blk "$1-meta" queue_mode=2 irqmode=0 submit_queues=1 size=1024 memory_backed=1
}

# With "none" a submitter would sleep for a tag from the ninth request on,
# which no real SSD makes it do.
ssd_queue()
{
	modprobe -q mq-deadline
	set_queue "$1" mq-deadline scheduler && set_queue "$1" 1024 nr_requests
}

nvme_of()
{
	for dir in /sys/class/nvme/nvme*; do
		[ "$(tr -d ' ' <"$dir/serial" 2>/dev/null)" = "$1" ] || continue
		for ns in "$dir"/nvme*n1; do
			[ -b "/dev/${ns##*/}" ] && echo "/dev/${ns##*/}" && return 0
		done
	done
	return 1
}

wait_nvme()
{
	modprobe -q nvme
	for _ in $(seq 100); do
		nvme_of "$1" && return 0
		sleep 0.1
	done
	say "the NVMe disk $1 did not appear"
	return 1
}

# raid0 NUMBER DEVICE…: without a superblock, which the devices may not keep.
raid0()
{
	raid_md=/dev/md$1
	shift
	modprobe -q raid0
	mdadm --build "$raid_md" --quiet --level=0 --chunk=1024 --raid-devices=$# "$@" >&2 || return 1
	[ -b "$raid_md" ] && echo "$raid_md"
}

raid0_nvme()
{
	members=
	for part in 0 1 2 3 4; do
		members="$members $(wait_nvme "mars-disk$1-$part")" || return 1
	done
	# shellcheck disable=SC2086  # a list
	raid0 "$1" $members
}

raid0_null()
{
	members=
	for part in 0 1 2 3 4; do
		member=$(timed_null "mars$1-$part" 8 16384) || return 1
		ssd_queue "$member" || return 1
		members="$members $member"
	done
	# shellcheck disable=SC2086  # a list
	raid0 "$1" $members
}

# make_disk NUMBER PROFILE [MIB]
make_disk()
{
	dev='' meta=''
	case $2 in
	array|ssd|raid0-null|mem*) load_null_blk || return 1 ;;
	esac
	case $2 in
	array)
		dev=$(timed_null "mars$1" 64 "${3:-65536}") && set_queue "$dev" none scheduler ;;
	ssd)
		dev=$(timed_null "mars$1" 8 "${3:-65536}") && ssd_queue "$dev" ;;
	raid0-null)
		dev=$(raid0_null "$1") ;;
	mem|mem512)
		dev=$(null_blk "mars$1" queue_mode=2 submit_queues=1 memory_backed=1 blocksize=512 size="${3:-1024}") ;;
	mem4k)
		dev=$(null_blk "mars$1" queue_mode=2 submit_queues=1 memory_backed=1 blocksize=4096 size="${3:-1024}") ;;
	nvme|nvme-limited)
		dev=$(wait_nvme "mars-disk$1") ;;
	raid0-nvme)
		dev=$(raid0_nvme "$1") ;;
	*)
		say "unknown disk profile '$2'"
		return 1 ;;
	esac || return 1
	[ -b "$dev" ] || return 1
	ln -s "$dev" "/dev/mars-disk$1"
	case $2 in
	array|ssd|raid0-null)
		meta=$(meta_null "mars$1") || return 1
		ln -s "$meta" "/dev/mars-disk$1-meta" ;;
	esac
}

# make_disks "PROFILE[:MIB] …"
make_disks()
{
	disk_number=0
	for spec in $1; do
		size=${spec#*:}
		[ "$size" != "$spec" ] || size=
		# shellcheck disable=SC2086  # absent when empty
		make_disk "$disk_number" "${spec%%:*}" $size || {
			say "disk $disk_number, profile '$spec', could not be made"
			return 1
		}
		disk_number=$((disk_number + 1))
	done
}
