# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# Buffers of every kind, and what other threads, signals and the end of the
# process do to a read under way: each natively and through MARS, compared. XFS
# is on /t, on a mapping whose I/O can be held back; /t2 is somewhere else.

FILE=/t/file

setup()
{
	dm_disk slow /dev/mars-disk0
	mount_dm xfs slow /t
	mread mkfile $FILE 24M --seed 52
	mount_fs ext4 1 /t2
	: >/t2/aside
	mars_load
	mars_attach /t
	mars_on /t
}

kind()
{
	mread address $FILE --case "$1" --aside /t2/aside --seed 52
}

with_huge_pages()
{
	put /proc/sys/vm/nr_hugepages 8 0
	trap 'mread put /proc/sys/vm/nr_hugepages 0' EXIT
	kind "$1"
}

in_guest="set -e; . /mars/test/lib.sh;"

# mid CASE [ARG...]: the disk is stopped, something happens, the disk goes on.
mid()
{
	trap 'dm_go slow || true' EXIT
	name=$1
	shift
	mread mid $FILE --case "$name" --seed 52 --stop "$in_guest dm_stop slow" \
		--go "$in_guest dm_go slow" "$@"
}

in_the_middle() { mid "$1"; }

# A read that is killed has not touched the rest of its buffer, be that memory or
# a file whose times would tell.
t_kill()
{
	mid kill
	mid kill --aside /t2/aside
}

# All of it is readable afterwards, and nothing stayed locked.
t_after()
{
	mread fpos $FILE --seed 52 --chunk 4M
	mread drop $FILE
	mread fpos $FILE --seed 52 --chunk 16M
}

t_unload()
{
	umount /t
	umount /t2
	mars_unload
}

t setup 60 setup
t protnone 60 kind
t thp 60 kind
t hugetlb 60 with_huge_pages
t hugetlb-none 60 kind
t shmem 60 kind
t shmem-short 60 kind
t filemap 60 kind
t filemap-short 60 kind
t filemap-private 60 kind
t device 60 kind
t pkey-access 60 kind
t pkey-write 60 kind
t uffd 60 kind
t munmap 60 in_the_middle
t munmap-rest 60 in_the_middle
t mprotect-none 60 in_the_middle
t mprotect-read 60 in_the_middle
t dontneed 60 in_the_middle
t mremap 60 in_the_middle
t remap 60 in_the_middle
t fork 60 in_the_middle
t exec 60 in_the_middle
t exit 60 in_the_middle
t kill 90 t_kill
t handled 60 in_the_middle
t stop 60 in_the_middle
t after 60 t_after
t unload 60 t_unload
