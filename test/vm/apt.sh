# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Sourced by what fetches Debian packages without installing them: an apt with
# its state in the cache, whose sources are derived from this machine's own.
# The caller has sourced lib.sh and set suite (a Debian release) and what (a
# word for messages).

# shellcheck disable=SC2154  # set by the caller
aptroot=$CACHE/apt/$suite

# The private apt.
APT_OPTS=(-qq
	-o "Dir::State=$aptroot/state" -o "Dir::State::status=$aptroot/status"
	-o "Dir::Cache=$aptroot/cache" -o "Dir::Etc::sourcelist=$aptroot/sources.list"
	-o Dir::Etc::sourceparts=/dev/null -o Dir::Etc::preferencesparts=/dev/null
	-o APT::Architecture=amd64 -o APT::Sandbox::User=root -o Acquire::Retries=3
	-o Acquire::Languages=none -o APT::Update::Post-Invoke-Success::=
	-o APT::Get::List-Cleanup=false)

codename()
{
	sed -n 's/^VERSION_CODENAME=//p' /etc/os-release
}

# mirror_uri SUFFIX: where this machine finds its own release ("" or "-security").
mirror_uri()
{
	local host

	host=$(codename)
	# shellcheck disable=SC2016  # apt's own variables
	apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
		awk -v r="$host$1" '$1 == r || $1 == r "/updates" { print $2; exit }'
}

write_sources()
{
	local main security key part

	main=$(mirror_uri "")
	security=$(mirror_uri -security)
	[ -n "$main" ] ||
		die "$EX_SETUP" "this machine's apt sources name no Debian mirror to take kernels from (see 'apt-get indextargets')"
	key=/usr/share/keyrings/debian-archive-keyring.gpg
	if [ -e "$key" ]; then key="[signed-by=$key]"; else key=; fi
	for part in "" -updates -backports; do
		printf 'deb %s %s %s main\n' "$key" "$main" "$suite$part"
	done
	if [ -n "$security" ]; then
		printf 'deb %s %s %s-security main\n' "$key" "$security" "$suite"
	fi
}

update_lists()
{
	mkdir -p "$aptroot/state/lists/partial" "$aptroot/cache/archives/partial"
	: >"$aptroot/status"
	write_sources >"$aptroot/sources.list"
	# A mirror may lack one of the suites; whether the packages are there is
	# checked afterwards.
	apt-get "${APT_OPTS[@]}" update >"$aptroot/update.log" 2>&1 ||
		apt-get "${APT_OPTS[@]}" update >"$aptroot/update.log" 2>&1 || true
}

# newest PACKAGE-REGEX: "package version" of the newest match.
newest()
{
	apt-cache "${APT_OPTS[@]}" dumpavail |
		awk -v re="^$1\$" '
			/^Package: / { p = $2 }
			/^Version: / && p ~ re { print p, $2; p = "" }' |
		while read -r p v; do
			printf '%s %s\n' "$v" "$p"
		done | sort_versions | tail -n 1 | awk '{ print $2, $1 }'
}

# Debian's order of versions is close enough to sort -V for one series.
sort_versions()
{
	sort -V
}

# download DIR PACKAGE=VERSION…
download()
{
	local dir=$1 try

	shift
	mkdir -p "$dir"
	for try in 1 2; do
		if (cd "$dir" && apt-get "${APT_OPTS[@]}" download "$@") >"$aptroot/download.log" 2>&1; then
			return 0
		fi
		[ "$try" = 2 ] || sleep 2
	done
	sed 's/^/  /' "$aptroot/download.log" "$aptroot/update.log" >&2
	die "$EX_SETUP" "cannot download the packages of '$what' (apt said the above); check the network and run again"
}
