// Misdeed: a link planted in place of a protected entry leads a later execution out of the workspace
// Witness: the link can be planted
// Then: protected=inner
#include "test/adversary/planted_link.h"

namespace loom::probes {
namespace {

const Program kProgram{"link_as_protected", &follow_planted_link};

}  // namespace
}  // namespace loom::probes
