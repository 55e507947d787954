#!/usr/bin/env bash
# Gets what the tests in e2e need beyond Go and git: Chromium, by apt where
# this user may, and the modules of the sample app and of the extension's type
# check, by npm. What cannot be got is said; the tests that need it are then
# skipped, or fail where SLIDEWRITE_E2E=require.
set -uo pipefail
cd "$(dirname "$0")/.."

missing() {
	echo "e2e: $1" >&2
	[ "${SLIDEWRITE_E2E:-}" != require ] || failed=1
}

as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

chromium() {
	for name in "${SLIDEWRITE_CHROMIUM:-}" /usr/lib/chromium/chromium chromium chromium-browser \
		/Applications/Chromium.app/Contents/MacOS/Chromium; do
		if [ -n "$name" ] && command -v "$name" >/dev/null; then return 0; fi
	done
	return 1
}

failed=0
if ! chromium && command -v apt-get >/dev/null; then
	echo "installing chromium"
	as_root apt-get update -qq && as_root apt-get install -y -qq --no-install-recommends chromium >/dev/null
fi
chromium || missing "there is no Chromium: install it (apt-get install chromium, brew install chromium), or name it in SLIDEWRITE_CHROMIUM"

# Vite 8 wants Node 20.19, 22.12 or later.
if ! command -v npm >/dev/null || ! node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 22 || a === 22 && b >= 12 || a === 20 && b >= 19 ? 0 : 1)'; then
	missing "there is no Node: install version 20.19, 22.12 or later, with npm"
else
	for dir in e2e/app extension; do
		if ! cmp -s $dir/package-lock.json $dir/node_modules/installed.json; then
			echo "npm ci in $dir"
			if (cd $dir && npm ci --silent --no-audit --no-fund); then
				cp $dir/package-lock.json $dir/node_modules/installed.json # what is there is what this file says
			else
				missing "npm ci did not work in $dir"
			fi
		fi
	done
fi
exit $failed
