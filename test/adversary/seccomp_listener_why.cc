// Misdeed: a filter of its own, with a listener that lets all through, opens what the jail refuses and tells
// Witness: a filter of its own can be loaded
// Run: why
#include "helper/probes/deeds.h"
#include "test/adversary/own_listener.h"

namespace loom::probes {
namespace {

const Program kProgram{"seccomp_listener_why", &try_listener};

}  // namespace
}  // namespace loom::probes
