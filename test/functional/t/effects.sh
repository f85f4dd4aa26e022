# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# What a read does besides filling its buffer, natively and through MARS: accounting,
# read-ahead, the kernel's memory of what was evicted, I/O limits and priorities, who
# watches the file. xfs is on /x, ext4 on /e, each on a disk that nobody else uses; a
# test's name begins with the file system that it is about.

SEED=71 GROUP=/sys/fs/cgroup/mars-effects
ISSUE=/sys/kernel/tracing/events/block/block_rq_issue

setup()
{
	mount_fs xfs 0 /x
	mount_fs ext4 1 /e
	for dir in /x /e; do
		mread mkfile $dir/file 64M --seed "$SEED"
		mread mkfile $dir/hot 20M --seed "$SEED"
		mread mkfile $dir/odd 20999999 --seed "$SEED"
	done
	echo "+memory +io" >/sys/fs/cgroup/cgroup.subtree_control
	mkdir $GROUP
	echo "+memory +io" >$GROUP/cgroup.subtree_control
	mars_load
	mars_attach /x
	mars_attach /e
	mars_on /x
	mars_on /e
}

# on NAME: where the file system is that the test is about.
on()
{
	case $1 in
	xfs-*) echo /x ;;
	ext4-*) echo /e ;;
	*) fail "no file system in the name $1" ;;
	esac
}

t_procio() { mread procio "$(on "$1")/file" --seed "$SEED"; }
# What a lookahead does to it is not native, and not meant to be.
t_readahead()
{
	dir=$(on "$1")
	native || put "$(entry "$dir")/lookahead_bytes" 0 0
	mread rastate "$dir/file" --seed "$SEED"
	native || put "$(entry "$dir")/lookahead_bytes" auto 0
}

t_advice()
{
	dir=$(on "$1")
	mread advice "$dir/file" --seed "$SEED"
	native && return
	trap 'put "$(entry "$dir")/max_folio_bytes" 2M 0' EXIT
	put "$(entry "$dir")/max_folio_bytes" 4K 0
	mread advice "$dir/file" --seed "$SEED" --folio 4K
}

# Reclaim takes and counts folios whole, and natively these come as single pages.
t_workingset()
{
	dir=$(on "$1")
	lists n
	native || put "$(entry "$dir")/max_folio_bytes" 4K 0
	mread workingset "$dir/file" --hot "$dir/hot" --group $GROUP --seed "$SEED"
	native || put "$(entry "$dir")/max_folio_bytes" 2M 0
}

t_blkcg() { mread blkcg "$(on "$1")/file" --group $GROUP --seed "$SEED"; }

# Each request of one large read has the reader's priority: CLASS LEVEL NAME of them.
issued_as()
{
	echo >/sys/kernel/tracing/trace
	ionice -c "$1" -n "$2" mread bigread "$dir/file" --off 5M --len 8M --seed "$SEED"
	awk -v disk="$(mountpoint -d "$dir" | tr : ,)" -v want="$3,0,$2" '
		{
			for (i = 1; i < NF && $i != "block_rq_issue:"; i++)
				;
			if ($(i + 1) != disk || $(i + 2) !~ /^R/)
				next
			requests++
			sectors += $(NF - 2)
			if ($(NF - 1) != want) {
				print "FAILED: a request went out as " $(NF - 1) ", not as " want ": " $0
				wrong = 1
				exit 1
			}
		}
		END {
			if (wrong)
				exit 1
			if (sectors < 8 * 1048576 / 512) {
				print "FAILED: " sectors + 0 " sectors in " requests + 0 " requests were seen"
				exit 1
			}
			print requests " requests as " want
		}' /sys/kernel/tracing/trace
}

t_ioprio()
{
	dir=$(on "$1")
	grep -q ioprio $ISSUE/format || skip "this kernel's tracepoint does not tell a request's priority"
	trap 'echo 0 >$ISSUE/enable' EXIT
	echo 1 >$ISSUE/enable
	for run in off on; do
		"mars_$run" "$dir"
		for prio in "1 5 rt" "2 7 be" "3 7 idle"; do
			mread drop "$dir/file"
			native || reads=$(mars_stat "$dir" reads)
			echo "mars_$run, $prio"
			# shellcheck disable=SC2086  # three words
			issued_as $prio
			native || [ $run = off ] || [ "$(mars_stat "$dir" reads)" = $((reads + 1)) ] ||
				fail "MARS did not do the read"
		done
	done
}

t_watch() { mread watch "$(on "$1")/odd" --mode "${1#*-watch-}" --seed "$SEED"; }

t_unload()
{
	umount /x
	umount /e
	mars_unload
	rmdir $GROUP
}

t setup 120 setup
t xfs-procio 120 t_procio
t xfs-readahead 180 t_readahead
t xfs-advice 120 t_advice
t xfs-workingset 120 t_workingset
t xfs-blkcg 90 t_blkcg
t xfs-ioprio 90 t_ioprio
t xfs-watch-access 120 t_watch
t xfs-watch-perm 120 t_watch
t xfs-watch-pre 120 t_watch
t ext4-procio 120 t_procio
t ext4-readahead 180 t_readahead
t ext4-advice 120 t_advice
t ext4-workingset 120 t_workingset
t ext4-blkcg 90 t_blkcg
t ext4-ioprio 90 t_ioprio
t ext4-watch-access 120 t_watch
t ext4-watch-perm 120 t_watch
t ext4-watch-pre 120 t_watch
t unload 60 t_unload
