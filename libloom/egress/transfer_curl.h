// What the three parts of the libcurl adapter share. Internal to transfer_*.cc: it includes curl.
#pragma once

#include <curl/curl.h>

#include <array>
#include <string>

#include "egress/transfer_hop.h"

namespace loom::egress {

// A list that libcurl reads while the transfer runs; its texts are wiped when it goes.
class CurlList {
 public:
  CurlList() = default;
  CurlList(const CurlList&) = delete;
  CurlList& operator=(const CurlList&) = delete;
  ~CurlList();
  [[nodiscard]] bool add(const std::string& line);
  [[nodiscard]] curl_slist* get() const { return list_; }

 private:
  curl_slist* list_ = nullptr;
};

struct CurlParts {
  CURL* easy = nullptr;
  int socket_error = 0;  // errno of a socket that could not be made
  CurlList headers;
  CurlList resolve;
  std::array<char, CURL_ERROR_SIZE> error{};  // libcurl's words: matched, never shown
};

// Everything that does not call back. False when libcurl lacks an option or memory: nothing may be sent then.
[[nodiscard]] bool set_up(CurlParts& parts, const HopRequest& request);

// libcurl's verdict in our words, at the stage it had come to.
[[nodiscard]] Failure fault_of(const CurlParts& parts, CURLcode code, Stage stage);

}  // namespace loom::egress
