#!/usr/bin/env bash
# Sees to it that the named tools are there: go, make, cc (a C compiler with headers, for the race detector),
# servers (all that the tests start, from internal/servicetest/packages.txt). As root on Debian it installs
# what is missing; elsewhere it says what to install, and fails.
set -euo pipefail

declare -A packages=([make]=make [cc]='gcc libc6-dev') places=()
servers=()
while read -r program package place; do
	[[ -z $program || $program == '#'* ]] && continue
	servers+=("$program") packages[$program]=$package places[$program]=$place
done <"$(dirname "${BASH_SOURCE[0]}")/../internal/servicetest/packages.txt"

have() {
	case $1 in
	cc) printf '#include <stdlib.h>\nint main(void){return 0;}\n' | $(${GO:-go} env CC) -x c -o /dev/null - >/dev/null 2>&1 ;;
	*) command -v "$1" >/dev/null 2>&1 || { [ -n "${places[$1]:-}" ] && compgen -G "${places[$1]}" >/dev/null; } ;;
	esac
}

missing=() install=()
tools=()
for tool in "$@"; do
	[ "$tool" = servers ] && tools+=("${servers[@]}") || tools+=("$tool")
done
for tool in "${tools[@]}"; do
	if ! have "$tool"; then
		missing+=("$tool")
		read -ra names <<<"${packages[$tool]:-}"
		install+=("${names[@]}")
	fi
done
[ ${#missing[@]} -eq 0 ] && exit 0

fail() {
	echo "missing: ${missing[*]}. $1" >&2
	exit 1
}

for tool in "${missing[@]}"; do
	[ -n "${packages[$tool]:-}" ] || fail "Install $tool first; Go is at https://go.dev/dl/, the version is in go.mod."
done
[ -z "${CC:-}" ] || fail "CC=$CC cannot compile a C program: unset it, or point it at a compiler."
command -v apt-get >/dev/null 2>&1 || fail "Install make, and gcc with the C library's headers, with this system's package manager."
[ "$(id -u)" -eq 0 ] || fail "Run: sudo apt-get update && sudo apt-get install -y ${install[*]}"

export DEBIAN_FRONTEND=noninteractive UCF_FORCE_CONFFOLD=1
echo "installing ${install[*]}" >&2
# The tests start servers of their own. Debian's packages would start some more, for nobody.
if [[ " ${install[*]} " == *" postgresql "* && ! -e /etc/postgresql-common/createcluster.conf ]]; then
	mkdir -p /etc/postgresql-common
	echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
fi
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
	printf '#!/bin/sh\nexit 101 # start nothing\n' >$policy
	chmod 755 $policy
	trap 'rm -f $policy' EXIT
fi
apt-get update -qq >&2
apt-get install -y -qq --no-install-recommends -o Dpkg::Options::=--force-confold "${install[@]}" >&2
for tool in "${missing[@]}"; do
	have "$tool" || fail "It was installed and still does not work."
done
