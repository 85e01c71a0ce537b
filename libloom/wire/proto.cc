#include "wire/proto.h"

#include <string>

#include "wire/fields.h"

namespace loom {
namespace {

std::string name_of(const Speaker& speaker, std::string_view fallback) {
  return shown_key(speaker.peer.empty() ? fallback : speaker.peer);
}

}  // namespace

Error proto_mismatch(const Speaker& ours, const Speaker& theirs) {
  const std::string us = name_of(ours, "this build");
  const std::string them = name_of(theirs, "the peer");
  return Error{"proto_mismatch", "hello",
               us + " speaks protocol " + std::to_string(ours.proto) + ", " + them + " speaks protocol " +
                   std::to_string(theirs.proto) + ": " + (ours.proto < theirs.proto ? us : them) + " is behind",
               "install the same version of both"};
}

}  // namespace loom
