#include "options.h"

#include "verbs.h"

namespace loom::egress_tool {

cli::Tool tool() {
  cli::Tool declared;
  declared.name = kTool;
  declared.summary = "The only way out: requests made for a jail, and an allowlisting proxy.";
  for (VerbRow& row : verbs()) declared.verbs.push_back(std::move(row.declared));
  declared.examples = {"loom-egress request --policy policy.json < request.json",
                       "loom-egress proxy --socket /run/user/1000/out --allow git.test:8443"};
  declared.page = "loom-egress(1)";
  return declared;
}

}  // namespace loom::egress_tool
