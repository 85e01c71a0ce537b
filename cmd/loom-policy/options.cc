#include "options.h"

namespace loom::policy_tool {

namespace {

const cli::Option kJson = {"--json", "", "one line of JSON"};
const cli::Option kMsgpack = {"--msgpack", "", "the document as wire bytes"};

cli::Verb verb(const char* name, const char* synopsis, const char* summary) {
  cli::Verb verb;
  verb.name = name;
  verb.synopsis = synopsis;
  verb.summary = summary;
  verb.rest = cli::Rest::kPositionals;
  return verb;
}

cli::Verb make_default() {
  cli::Verb made = verb("default", "[flags] DIR", "The ready-made policy of a workspace.");
  made.options = {{"--fit", "", "leave out ceilings that cannot be held here"},
                  {"--git-config", "writable", "do not freeze the git config"},
                  {"--helper", "PATH", "the loom-exec whose layers --fit asks for"},
                  kMsgpack,
                  kJson};
  made.positionals = {"DIR"};
  made.examples = {"loom-policy default . --fit > policy.json", "loom-policy default --fit --msgpack /srv/ws > base"};
  return made;
}

cli::Verb check() {
  cli::Verb made = verb("check", "[flags] FILE", "Decode and validate; status 1 on any fault.");
  made.options = {kJson};
  made.positionals = {"FILE"};
  made.examples = {"loom-policy check policy.json", "loom-policy check --json - < policy.json"};
  return made;
}

cli::Verb convert() {
  cli::Verb made =
      verb("convert", "[flags] --to FORMAT FILE", "The same policy in JSON or msgpack; upgrades version 2.");
  made.options = {{"--to", "FORMAT", "json or msgpack"}, kJson};
  made.positionals = {"FILE"};
  made.examples = {"loom-policy convert --to msgpack policy.json > policy",
                   "loom-policy convert --to json old.json > new.json"};
  return made;
}

cli::Verb digest() {
  cli::Verb made = verb("digest", "[flags] FILE", "One name for all policies that mean the same.");
  made.options = {kJson};
  made.positionals = {"FILE"};
  made.examples = {"loom-policy digest policy.json", "loom-policy default . | loom-policy digest -"};
  return made;
}

cli::Verb compose() {
  cli::Verb made = verb("compose", "[flags] --base FILE --require FILE", "Most restrictive wins; grants alone widen.");
  made.options = {{"--base", "FILE", "what is allowed at most"},
                  {"--require", "FILE", "what the tool asks for"},
                  {"--grant", "G", "writable_root=PATH readable_root=PATH env=NAME", true},
                  {"--refuse-narrowed", "", "status 1 and no policy when not all is given"},
                  kMsgpack,
                  kJson};
  made.rest = cli::Rest::kNone;
  made.examples = {"loom-policy compose --base b.json --require r.json --grant limit.pids=4096",
                   "loom-policy compose --base b --require r --grant network=proxy:a.test"};
  return made;
}

cli::Verb explain() {
  cli::Verb made = verb("explain", "[flags] FILE", "What an executor here would do, in order, and why.");
  made.options = {{"--path", "P", "only what may be done at P, and which entry decides"},
                  {"--helper", "PATH", "the loom-exec whose layers are told"},
                  kJson};
  made.positionals = {"FILE"};
  made.examples = {"loom-policy explain policy.json", "loom-policy explain policy.json --path /srv/ws/.git/hooks"};
  return made;
}

cli::Verb diff() {
  cli::Verb made = verb("diff", "[flags] A B", "What each allows that the other does not.");
  made.options = {kJson};
  made.positionals = {"A", "B"};
  made.examples = {"loom-policy diff old.json new.json", "loom-policy default . | loom-policy diff policy.json -"};
  return made;
}

}  // namespace

const cli::Tool& tool() {
  static const cli::Tool kDeclared = {
      std::string(kTool),
      "What may a jailed command do? Policy documents, checked, composed and explained.",
      {make_default(), check(), convert(), digest(), compose(), explain(), diff()},
      {"loom-policy default . --fit > policy.json", "loom-policy explain policy.json --path ./.git/hooks"},
      "loom-policy(1)"};
  return kDeclared;
}

}  // namespace loom::policy_tool
