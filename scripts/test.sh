#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test: unit, contract and integration tests under AddressSanitizer and
# UndefinedBehaviorSanitizer, the store's and the bus's contract under ThreadSanitizer too, every parser fuzzed for some seconds, and
# end-to-end tests on the programs as they are installed.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  cat <<'TXT'
Usage: scripts/test.sh [--quick]

  --quick   unit and contract tests only, without sanitizers and without a Docker engine
Starts a Docker engine when none answers, and stops it at the end. Ends with "N passed, N failed".
TXT
}
quick=false
for argument in "$@"; do
  case "$argument" in
  --quick) quick=true ;;
  -h | --help) usage; exit 0 ;;
  *) echo "test.sh: unknown option $argument" >&2; usage >&2; exit 2 ;;
  esac
done

work=$(mktemp -d -t sandbox-test.XXXXXX)
. scripts/engine.sh
clean_up() {
  stop_engine
  rm -rf "$work"
}
trap clean_up EXIT

passed=0 failed=0
# ctest with a preset; adds its counts to ours.
run_tests() {
  local preset=$1 total bad
  shift
  printf '\n== tests: %s %s\n' "$preset" "$*"
  ctest --preset "$preset" --output-on-failure --no-tests=error "$@" 2>&1 | tee "$work/ctest.log" || true
  total=$(sed -nE 's/^[0-9]+% tests passed, [0-9]+ tests? failed out of ([0-9]+)$/\1/p' "$work/ctest.log")
  bad=$(sed -nE 's/^[0-9]+% tests passed, ([0-9]+) tests? failed out of [0-9]+$/\1/p' "$work/ctest.log")
  if [ -z "$total" ]; then
    failed=$((failed + 1))
  else
    passed=$((passed + total - bad)) failed=$((failed + bad))
  fi
}
# Builds these targets of a preset.
build() {
  local preset=$1
  shift
  printf '\n== build: %s (%s)\n' "$preset" "$*"
  cmake --preset "$preset" >"$work/configure.log" 2>&1 || { cat "$work/configure.log" >&2; exit 1; }
  # Ninja's progress fills a log with a line per file: failures are what matters.
  cmake --build --preset "$preset" --target "$@" >"$work/build.log" 2>&1 ||
    { grep -A 20 -E 'FAILED|error:' "$work/build.log" | head -n 200 >&2; exit 1; }
  tail -n 1 "$work/build.log"
}

scripts/setup.sh
if $quick; then
  build dev unit_tests contract_tests
  run_tests dev -L 'unit|contract' -E runtime_contract_test
else
  ensure_engine
  scripts/build-base-image.sh busybox
  scripts/lint.sh --format-only
  build release sandboxd sandbox sandbox-guest e2e_tests stack_bench
  build asan unit_tests contract_tests integration_tests
  build tsan store_contract_test postgres_store_contract_test event_bus_contract_test
  build fuzz fuzz_targets
  run_tests asan -L 'unit|contract|integration'
  run_tests tsan -R '^(store|postgres_store|event_bus)_contract_test$'
  run_tests fuzz -L 'fuzz'
  run_tests release -L 'e2e'
fi
printf '\n%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
