// The file of --report, opened before anything runs (spec/broker.md "Flags of run and call"). It often lies in a
// workspace, where an earlier command may have planted any part of its name: a link to another file of the caller's, a
// directory that is one, a pipe that nobody reads. And the command that is reported on may be able to write it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "os/unique_fd.h"
#include "service/call_flags.h"

namespace loom::service {

// Where an earlier command could have planted names, as far as the flags tell before the policy is composed: the
// workspace, what is granted, and the writable roots of a policy file that can be read twice.
[[nodiscard]] std::vector<Path> where_commands_write(const CallFlags& flags, const CallerFacts& facts);

// Created or emptied. A last component that is a link is never followed, one above it only where it lies in none of
// `planted`; a device and a descriptor of the caller's own are links by nature. Error: unwritable.
[[nodiscard]] Result<UniqueFd> open_report(const std::string& path, const std::vector<Path>& planted);

// When nothing of the command lives, before the report is written: what it wrote there goes, and what it put in the
// file's place is not taken for a report. Error: unwritable.
[[nodiscard]] Status take_report_back(int report, const std::string& path);

}  // namespace loom::service
