// Misdeed: a link planted in place of the scratch leads a later execution out of the workspace
// Witness: the link can be planted
// Then: scratch=inner
#include "test/adversary/planted_link.h"

namespace loom::probes {
namespace {

const Program kProgram{"link_as_scratch", &follow_planted_link};

}  // namespace
}  // namespace loom::probes
