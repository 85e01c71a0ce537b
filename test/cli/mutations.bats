#!/usr/bin/env bats
# The broker's properties find a fault that is put into a core: a suite that could not fail would say nothing.

load helpers

@test "each named mutation of a core fails the properties" {
  found=0
  for edit in "$TREE"/test/mutations/*.sed; do
    name=$(basename "$edit" .sed)
    try env "RC_PARAMS=seed=20261129 max_success=600 noshrink=1" timeout 60 "$BUILT/test/mutant-$name" --gtest_fail_fast
    is 1
    says "Falsifiable"
    found=$((found + 1))
  done
  [ "$found" -ge 2 ]
}

@test "without a mutation the same properties hold" {
  try env "RC_PARAMS=seed=20261129 max_success=50" "$BUILT/test/property-broker" --gtest_filter='BrokerProperty.*:ExecutionProperty.*'
  is 0
}
