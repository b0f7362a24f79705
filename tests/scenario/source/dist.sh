#!/bin/sh
# `make dist` writes the files of the last commit to an archive, which is the same each time.
. "$(dirname "$0")/../lib.sh"
cd "$top" || exit 1
git rev-parse -q --verify HEAD >"$dir/commit" 2>&1 || skip_all "no git, or not a repository"

version=$(cat VERSION)
archive=gover-$version.tar.gz
ok "the archive is written" make -s dist B="$dir/1"
ok "it is written again, with another umask" sh -c "umask 077 && make -s dist B='$dir/2'"
ok "both are equal" cmp "$dir/1/$archive" "$dir/2/$archive"
git ls-tree -r --name-only HEAD | grep -v '^debian/' | sed "s|^|gover-$version/|" | sort >"$dir/wanted"
tar -tzf "$dir/1/$archive" | grep -v '/$' | sort >"$dir/got"
ok "it has the files of the commit except debian/ in a folder with the version" diff "$dir/wanted" "$dir/got"
finish
