// Misdeed: a link planted in place of an explicit mount leads a later execution out of the workspace
// Witness: the link can be planted
// Then: mount=inner
#include "test/adversary/planted_link.h"

namespace loom::probes {
namespace {

const Program kProgram{"link_as_mount", &follow_planted_link};

}  // namespace
}  // namespace loom::probes
