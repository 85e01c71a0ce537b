#include "egress/tunnel_stepper.h"

namespace loom::egress {

namespace effect = tunnel_effect;
namespace event = tunnel_event;

namespace {

const ProxyRefusal kSlowHead{"head_timeout", "", "no whole request within 10 seconds"};

}  // namespace

void TunnelStepper::record(bool allowed, const ProxyRefusal& refusal) {
  add(effect::Record{{tunnel.asked, allowed, refusal.code, refusal.rule, tunnel.addresses, since(tunnel.began)}});
}

// The closing record of an admitted tunnel; nothing for what never was one.
void TunnelStepper::close_record(std::string_view error) {
  if (!tunnel.admitted) return;
  tunnel.closing.error = error;
  tunnel.closing.ms = since(*tunnel.admitted);
  add(effect::RecordClosing{tunnel.closing});
  tunnel.admitted.reset();
}

void TunnelStepper::over(std::string_view error) {
  // A name was looked up for it: that is not left without a word because whoever asked did not wait for the answer.
  if (tunnel.phase == TunnelPhase::kResolving) record(false, {std::string(error), tunnel.target->rule, ""});
  close_record(error);
  tunnel.phase = TunnelPhase::kOver;
  tunnel.due.reset();
  add(effect::Finish{});
}

// Nothing more will be asked; the client may read its last words in peace.
void TunnelStepper::end(std::string_view error) {
  close_record(error);
  tunnel.phase = TunnelPhase::kEnding;
  tunnel.due = context.now + kLingerPatience;
  add(effect::EndUpstream{});
  add(effect::ShutClient{});
  if (tunnel.client_eof) over("");
}

void TunnelStepper::say_refusal(const ProxyRefusal& refusal) {
  add(effect::Say{render_refusal(refusal, tunnel.asked.front, asked())});
}

void TunnelStepper::refuse(const ProxyRefusal& refusal) {
  record(false, refusal);
  say_refusal(refusal);
  end(refusal.code);
}

// The client has been told "connected": there is nothing left to say but the end, and the record says why.
void TunnelStepper::refuse_opened(const ProxyRefusal& refusal) {
  record(false, refusal);
  end(refusal.code);
}

void TunnelStepper::operator()(const event::ClientEof&) {
  tunnel.client_eof = true;
  switch (tunnel.phase) {
    case TunnelPhase::kOpening:
    case TunnelPhase::kSocksRequest:
      return over("");
    case TunnelPhase::kResolving:
    case TunnelPhase::kConnecting:
      // Who asks for a tunnel and shuts it has gone; a plain request may be complete.
      if (!tunnel.plain()) over("client_gone");
      return;
    case TunnelPhase::kHello:
      return over("hello_missing");
    case TunnelPhase::kRelaying:
      if (tunnel.plain()) return;
      if (tunnel.upstream_eof) return over("");
      add(effect::ShutUpstream{});
      return;
    case TunnelPhase::kEnding:
      return over("");
    case TunnelPhase::kOver:
      return;
  }
}

void TunnelStepper::operator()(const event::ClientLost&) {
  if (tunnel.phase != TunnelPhase::kOver) over("client_gone");
}

// A request that got no byte of an answer is told so.
void TunnelStepper::end_plain(std::string_view error) {
  if (tunnel.closing.down > 0) return end(error);
  say_refusal({"upstream", "", "the upstream closed the connection without an answer"});
  end("upstream");
}

void TunnelStepper::operator()(const event::UpstreamEof&) {
  switch (tunnel.phase) {
    case TunnelPhase::kRelaying:
      if (tunnel.plain()) return end_plain("");
      tunnel.upstream_eof = true;
      if (tunnel.client_eof) return over("");
      add(effect::ShutClient{});
      return;
    case TunnelPhase::kOpening:
    case TunnelPhase::kSocksRequest:
    case TunnelPhase::kResolving:
    case TunnelPhase::kConnecting:
    case TunnelPhase::kHello:
    case TunnelPhase::kEnding:
    case TunnelPhase::kOver:
      return;
  }
}

void TunnelStepper::operator()(const event::UpstreamLost&) {
  switch (tunnel.phase) {
    case TunnelPhase::kHello:
      return end("upstream");
    case TunnelPhase::kRelaying:
      if (tunnel.plain()) return end_plain("upstream");
      // One that has said its last word may close at once: what is sent it then comes back as a reset.
      return end(tunnel.upstream_eof ? "" : "upstream");
    case TunnelPhase::kOpening:
    case TunnelPhase::kSocksRequest:
    case TunnelPhase::kResolving:
    case TunnelPhase::kConnecting:
    case TunnelPhase::kEnding:
    case TunnelPhase::kOver:
      return;
  }
}

void TunnelStepper::operator()(const event::Moved& event) {
  switch (tunnel.phase) {
    case TunnelPhase::kRelaying:
      tunnel.closing.up = event.up;
      tunnel.closing.down = event.down;
      tunnel.due = context.now + kIdlePatience;
      return;
    case TunnelPhase::kOpening:
    case TunnelPhase::kSocksRequest:
    case TunnelPhase::kResolving:
    case TunnelPhase::kConnecting:
    case TunnelPhase::kHello:
    case TunnelPhase::kEnding:
    case TunnelPhase::kOver:
      return;
  }
}

void TunnelStepper::operator()(const event::BodyFault&) {
  switch (tunnel.phase) {
    case TunnelPhase::kRelaying:
      return end("bad_request");
    case TunnelPhase::kOpening:
    case TunnelPhase::kSocksRequest:
    case TunnelPhase::kResolving:
    case TunnelPhase::kConnecting:
    case TunnelPhase::kHello:
    case TunnelPhase::kEnding:
    case TunnelPhase::kOver:
      return;
  }
}

// What stood behind the record was not carried out.
void TunnelStepper::operator()(const event::RecordFailed&) {
  switch (tunnel.phase) {
    case TunnelPhase::kResolving:
    case TunnelPhase::kConnecting:
    case TunnelPhase::kEnding:
      tunnel.admitted.reset();
      if (!tunnel.opened) say_refusal({"record_failed", "", "the record of the decision cannot be written"});
      return end("");
    case TunnelPhase::kOver:
      add(effect::Finish{});
      return;
    case TunnelPhase::kOpening:
    case TunnelPhase::kSocksRequest:
    case TunnelPhase::kHello:
    case TunnelPhase::kRelaying:
      return;
  }
}

void TunnelStepper::operator()(const event::Due&) {
  if (!tunnel.due || *tunnel.due > context.now) return;
  switch (tunnel.phase) {
    case TunnelPhase::kOpening:
      // A SOCKS client has nothing it could be told yet.
      if (tunnel.asked.front != Front::kSocks) add(effect::Say{render_http_refusal(kSlowHead, "")});
      return end("");
    case TunnelPhase::kSocksRequest:
      return end("");
    case TunnelPhase::kResolving:
      return refuse({"deadline", tunnel.target->rule, "the name was not resolved in time"});
    case TunnelPhase::kConnecting:
      return connect_failed({"deadline", "", "the upstream did not answer in time"});
    case TunnelPhase::kHello:
      return refuse_opened({"hello_missing", "not_tls", "no TLS hello came in time"});
    case TunnelPhase::kRelaying:
      return end("idle");
    case TunnelPhase::kEnding:
      return over("");
    case TunnelPhase::kOver:
      return;
  }
}

void TunnelStepper::operator()(const event::Stop&) {
  if (tunnel.phase != TunnelPhase::kOver) over("proxy_ended");
}

}  // namespace loom::egress
