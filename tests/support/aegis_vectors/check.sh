#!/bin/sh
# All cases of the fixture pass, a changed one fails with exit 1, and a file that can't be used is a clear error with
# exit 2.
set -eu
program=$1 cases=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# expect STATUS TEXT FILE
expect() {
    status=0
    "$program" "$3" >"$folder/out" 2>&1 || status=$?
    if [ "$status" != "$1" ] || ! grep -q -- "$2" "$folder/out"; then
        echo "$3: expected exit $1 and \"$2\", got exit $status and:" && cat "$folder/out"
        exit 1
    fi
}

expect 0 '^120 passed, 0 failed$' "$cases"

sed '0,/"risk_score": [0-9]*/s//"risk_score": 1/' "$cases" >"$folder/changed.json"
expect 1 'risk_score: expected 1, got' "$folder/changed.json"
expect 1 '^119 passed, 1 failed$' "$folder/changed.json"

expect 2 "can't read" "$folder/absent.json"
expect 2 "can't read" "$folder"
echo '{"cases": [' >"$folder/cut.json"
expect 2 'not valid JSON at line' "$folder/cut.json"
echo '[]' >"$folder/list.json"
expect 2 'must be an object' "$folder/list.json"
echo '{"cases": []}' >"$folder/empty.json"
expect 2 'holds no case' "$folder/empty.json"
echo '{"cases": [{"spec": {"tenant": "t", "image": "i", "network": "wifi"}, "expect": {}}]}' >"$folder/shape.json"
expect 2 'cases\[0\].spec.network: must be one of' "$folder/shape.json"
: >"$folder/nothing.json"
expect 2 'not valid JSON' "$folder/nothing.json"
