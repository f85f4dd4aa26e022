#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# One job of bench/run: make the file system and the file, describe the machine, run the
# plan. In a guest, or (mkfs= left out) on a directory of a real machine.
#
#   guest.sh KEY=VALUE...
#     dir=     directory to measure in; made and mounted here when fs= is given
#     fs=      file system to make on disk 0
#     file=    size of the file that is read
#     plan=    plan for rdbench          out=    directory for raw.csv and env.txt
#     bin=     directory of rdbench      module= path of mars.ko, "loaded" or "none"
#     data=    device that holds the data, when it is not the mount's own
#     other=   file system for disk 1, which MARS is enabled for with mars=other
#     kmod=    mars_bench.ko: no file and no file system, it is what is measured
#     budget=, need=, cold=              as rdbench's -b and -n; cold=fadvise is its -f
set -eu

dir='' fs='' file=1G plan='' out=/out bin=/mars/bin module=none data='' other='' kmod=''
budget=0 need=0 cold=drop touch=0
for arg; do
	case $arg in
	dir=*) dir=${arg#*=} ;;
	fs=*) fs=${arg#*=} ;;
	file=*) file=${arg#*=} ;;
	plan=*) plan=${arg#*=} ;;
	out=*) out=${arg#*=} ;;
	bin=*) bin=${arg#*=} ;;
	module=*) module=${arg#*=} ;;
	data=*) data=${arg#*=} ;;
	other=*) other=${arg#*=} ;;
	kmod=*) kmod=${arg#*=} ;;
	budget=*) budget=${arg#*=} ;;
	need=*) need=${arg#*=} ;;
	cold=*) cold=${arg#*=} ;;
	touch=*) touch=${arg#*=} ;;
	*) echo "guest.sh: unknown argument $arg" >&2; exit 2 ;;
	esac
done

rdbench=$bin/rdbench
path=$dir/mars-bench.data

put() {
	printf '%s=%s\n' "$1" "$2" >>"$out/env.txt"
}

first_line() {
	if [ -r "$1" ]; then head -n 1 "$1"; else echo unknown; fi
}

cpu_field() {
	sed -n "s/^$1[[:space:]]*: //p" /proc/cpuinfo | head -n 1
}

describe_machine() {
	: >"$out/env.txt"
	put kernel_release "$(uname -r)"
	put kernel_version "$(uname -v)"
	put machine "$(uname -m)"
	put cpus "$(grep -c '^processor' /proc/cpuinfo)"
	put cpu_model "$(cpu_field 'model name')"
	put cpu_flags "$(cpu_field flags)"
	put hypervisor "$(if cpu_field flags | grep -qw hypervisor; then echo yes; else echo no; fi)"
	put mem_kb "$(sed -n 's/^MemTotal: *\([0-9]*\).*/\1/p' /proc/meminfo)"
	put thp "$(first_line /sys/kernel/mm/transparent_hugepage/enabled)"
	put clocksource "$(first_line /sys/devices/system/clocksource/clocksource0/current_clocksource)"
}

describe_mount() {
	"$rdbench" info "$dir" ${data:+"$data"} >"$out/info.txt"
	cat "$out/info.txt" >>"$out/env.txt"
	queue=$(sed -n 's/^stat_path=\(.*\)stat$/\1queue/p' "$out/info.txt")
	rm "$out/info.txt"
	[ -n "$queue" ] || return 0
	for f in max_sectors_kb nr_requests scheduler rotational optimal_io_size; do
		put "queue_$f" "$(first_line "$queue/$f")"
	done
}

# The knobs as a newly attached mount has them.
describe_mars() {
	mars=/sys/fs/mars
	[ "$module" != none ] || return 0
	[ "$module" = loaded ] || insmod "$module"
	if [ ! -d $mars ]; then
		echo "guest.sh: $mars does not exist: load the module first (insmod mars.ko)" >&2
		exit 1
	fi
	put mars_version "$(first_line $mars/version)"
	for f in "$mars"/defaults/*; do
		[ ! -f "$f" ] || put "mars_default_${f##*/}" "$(first_line "$f")"
	done
	[ "$module" = loaded ] || rmmod mars
}

# How long the preparations take is part of what make demo has to keep short.
step() {
	read -r up _ </proc/uptime
	echo "guest.sh: $* at $up s of uptime"
}

if [ -n "$kmod" ]; then
	describe_machine
	[ "$touch" = 0 ] || "$rdbench" touch "$touch"
	insmod "$kmod"
	trap 'rmmod mars_bench' EXIT
	trap 'exit 1' INT TERM HUP
	"$rdbench" copy -b "$budget" -n "$need" /dev/mars-bench "$plan" >"$out/raw.csv"
	exit
fi
if [ -n "$fs" ]; then
	# 4: no line in the kernel log for each of the many times that caches are dropped.
	echo 4 >/proc/sys/vm/drop_caches
	mars-mkfs-mount "$fs" 0 "$dir"
	[ -z "$other" ] || mars-mkfs-mount "$other" 1 "$dir.other"
else
	# Somebody's own directory: nothing of ours stays there.
	trap 'rm -f "$path"' EXIT
	trap 'exit 1' INT TERM HUP
fi
describe_machine
describe_mount
describe_mars
step "file system ready"
[ "$touch" = 0 ] || "$rdbench" touch "$touch"
step "memory touched"
"$rdbench" fill "$path" "$file"
step "file of $file bytes written"

set -- -m "$module" -b "$budget" -n "$need"
[ -z "$data" ] || set -- "$@" -d "$data"
[ -z "$other" ] || set -- "$@" -o "$dir.other"
[ "$cold" = drop ] || set -- "$@" -f
"$rdbench" run "$@" "$path" "$plan" >"$out/raw.csv"
