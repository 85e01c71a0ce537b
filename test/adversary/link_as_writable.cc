// Misdeed: a link planted in place of a writable root leads a later execution out of the workspace
// Witness: the link can be planted
// Then: writable=inner
#include "test/adversary/planted_link.h"

namespace loom::probes {
namespace {

const Program kProgram{"link_as_writable", &follow_planted_link};

}  // namespace
}  // namespace loom::probes
