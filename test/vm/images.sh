# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154  # variables of test/vm/run
#
# What a guest boots from, kept in the cache; sourced by test/vm/run.
#
#   tools image    ext4, uncompressed: programs of this machine with their
#                  libraries. Shared by all kernels.
#   modules image  ext4: one kernel's whole module tree, decompressed.
#   initramfs      busybox, and the modules that are needed to mount the two.
#
# ext4, because every kernel MARS is tested on has it, whereas squashfs or
# erofs may be left out of a lean one; uncompressed, because an emulated CPU
# unpacks slowly.

IMAGES_VERSION=4

# libraries FILE: what the dynamic linker would load for it, itself included.
libraries()
{
	ldd "$1" 2>/dev/null | sed -n 's/^.*=> \(\/[^ ]*\) .*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) (0x.*/\1/p'
}

# make_ext4 DIR IMAGE
make_ext4()
{
	local dir=$1 image=$2 kib files

	kib=$(du -sk --apparent-size "$dir" | cut -f 1)
	files=$(find "$dir" | wc -l)
	rm -f "$image"
	mke2fs -q -t ext4 -O ^has_journal -m 0 -E root_owner=0:0,lazy_itable_init=0 \
		-N $((files + 256)) -d "$dir" "$image" $((kib * 11 / 10 + files * 4 + 16384))k >/dev/null ||
		die "$EX_SETUP" "cannot make the image $image; is the disk full?"
	debugfs -w -R 'rmdir lost+found' "$image" 2>/dev/null
}

tool_names()
{
	sed 's/#.*//' "$VM_DIR/tools.list" | awk 'NF { print $1 }'
	[ $# = 0 ] || printf '%s\n' "$@"
}

# Resolved names, one a line; a missing program is an error, never a gap.
tool_files()
{
	local name missing=

	for name in $(tool_names "$@"); do
		type -P "$name" || missing="$missing $name"
	done
	[ -z "$missing" ] ||
		die "$EX_SETUP" "programs for the guest are missing:$missing; run test/setup"
}

stage_tools()
{
	local dir=$1 files=$2 file lib

	mkdir -p "$dir/bin" "$dir/lib" "$dir/etc"
	for file in $files; do
		cp -L "$file" "$dir/bin/${file##*/}"
	done
	for file in $files; do
		libraries "$file"
	done | sort -u | while read -r lib; do
		cp -L "$lib" "$dir/lib/${lib##*/}"
	done
	# Loaded by glibc when a thread is cancelled.
	cp -L "$(gcc -print-file-name=libgcc_s.so.1)" "$dir/lib/"
	cp -L /etc/mke2fs.conf "$dir/etc/"
	ln -sf mkfs.ext4 "$dir/bin/mkfs.ext2"
	ln -sf mkfs.ext4 "$dir/bin/mkfs.ext3"
	ln -sf mkfs.ext4 "$dir/bin/mke2fs"
	ln -sf e2fsck "$dir/bin/fsck.ext4"
}

build_tools_image()
{
	local dest=$1 files=$2 tmp=$1.tmp

	[ ! -e "$dest" ] || return 0
	note "making the image of guest programs"
	rm -rf "$tmp"
	mkdir -p "$tmp"
	stage_tools "$tmp/root" "$files"
	make_ext4 "$tmp/root" "$tmp/image"
	mv "$tmp/image" "$dest"
	rm -rf "$tmp"
}

# tools_image [EXTRA-PROGRAM…]: makes it, prints its path.
tools_image()
{
	local files key

	files=$(tool_files "$@") || exit
	mkdir -p "$CACHE/images"
	# dpkg's list of packages stands for the libraries: asking the dynamic
	# linker about every program takes longer than a guest takes to boot.
	# shellcheck disable=SC2086  # a list
	key=$({
		echo "$IMAGES_VERSION"
		stat -L -c '%n %s %Y' $files /var/lib/dpkg/status
	} | sha256sum | cut -c 1-16)
	with_lock "tools-$key" build_tools_image "$CACHE/images/tools-$key.ext4" "$files" >&2
	touch "$CACHE/images/tools-$key.ext4"
	printf '%s\n' "$CACHE/images/tools-$key.ext4"
}

# Whatever no run has used for a week. A guest that still has one open keeps it.
prune_images()
{
	find "$CACHE/images" -mindepth 1 -maxdepth 1 -mtime +7 -exec rm -rf {} +
}

decompress_modules()
{
	local dir=$1

	find "$dir" -name '*.ko.xz' -print0 | xargs -0 -r -n 64 -P "$(nproc)" xz -d
	find "$dir" -name '*.ko.zst' -print0 | xargs -0 -r -n 64 -P "$(nproc)" zstd -q -d --rm
	find "$dir" -name '*.ko.gz' -print0 | xargs -0 -r -n 64 -P "$(nproc)" gzip -d
}

# stage_modules TREE RELEASE ROOT
stage_modules()
{
	local tree=$1 release=$2 root=$3 entry

	mkdir -p "$root/lib/modules/$release"
	for entry in "$tree"/*; do
		case ${entry##*/} in
		build|source|vmlinuz|vmlinux|System.map*|config*|vdso) ;;
		*) cp -a "$entry" "$root/lib/modules/$release/" ;;
		esac
	done
	decompress_modules "$root/lib/modules/$release"
	depmod -b "$root" "$release" ||
		die "$EX_SETUP" "depmod cannot read the module tree $tree"
}

# boot_modules ROOT RELEASE: files to insert before any image can be mounted,
# in order. What the kernel has built in is not listed.
boot_modules()
{
	local root=$1 release=$2 name lines

	for name in virtio_pci virtio_blk ext4 configfs; do
		lines=$(modprobe -d "$root" -S "$release" --show-depends --ignore-install "$name" 2>/dev/null) || {
			note "warning: kernel $release has '$name' neither as a module nor listed as built in; the guest may not start (see kconfig/vm.config)"
			continue
		}
		printf '%s\n' "$lines" | sed -n 's/^insmod \([^ ]*\).*/\1/p'
	done | awk '!seen[$0]++'
}

stage_initramfs()
{
	local root=$1 release=$2 dir=$3 file

	(cd "$dir" && mkdir -p bin dev etc lib mars/bin mars/lib mods modules out proc \
		run sbin sys tmp tools usr)
	cp -L "$(type -P busybox)" "$dir/bin/busybox"
	ln -s busybox "$dir/bin/sh"
	: >"$dir/mods/order"
	boot_modules "$root" "$release" | while read -r file; do
		cp "$file" "$dir/mods/"
		printf '%s\n' "${file##*/}" >>"$dir/mods/order"
	done
}

# pack_cpio DIR FILE
pack_cpio()
{
	(cd "$1" && find . -mindepth 1 -print0 | sort -z | cpio -o -0 -H newc -R 0:0 --quiet) >"$2"
}

build_kernel_images()
{
	local dest=$1 tree=$2 release=$3 tmp=$1.tmp

	[ ! -e "$dest/modules.ext4" ] || return 0
	note "making the boot images of kernel $release"
	rm -rf "$tmp" "$dest"
	mkdir -p "$tmp/initramfs" "$tmp/out"
	stage_modules "$tree" "$release" "$tmp/root"
	stage_initramfs "$tmp/root" "$release" "$tmp/initramfs"
	pack_cpio "$tmp/initramfs" "$tmp/out/initramfs.cpio"
	make_ext4 "$tmp/root/lib/modules" "$tmp/out/modules.ext4"
	mv "$tmp/out" "$dest"
	rm -rf "$tmp"
}

# tree_release TREE: what its modules say, as a tree may have been copied to a
# directory of any name.
tree_release()
{
	local sample

	sample=$(find "$1" -name '*.ko*' -print -quit)
	if [ -n "$sample" ]; then
		modinfo -F vermagic "$sample" | cut -d ' ' -f 1
	else
		printf '%s\n' "${1##*/}"
	fi
}

# kernel_images TREE: makes them, prints their directory.
kernel_images()
{
	local tree=$1 release key

	release=$(tree_release "$tree")
	mkdir -p "$CACHE/images"
	key=$({
		echo "$IMAGES_VERSION"
		stat -L -c '%s %Y' "$(type -P busybox)"
		find "$tree" -type f -printf '%P %s %T@\n' | sort
	} | sha256sum | cut -c 1-16)
	with_lock "images-$key" build_kernel_images "$CACHE/images/$release-$key" "$tree" "$release" >&2
	touch "$CACHE/images/$release-$key"
	prune_images
	printf '%s\n' "$CACHE/images/$release-$key"
}
